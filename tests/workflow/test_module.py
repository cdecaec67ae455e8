"""The workflow as a part of another one, as docs/snakemake.md shows."""

import fcntl
import re
import shutil
import subprocess

import pytest
import yaml

from measure.fingerprint import ROOT
from tests import copies
from tests.workflow.runner import TINY, Runner

pytestmark = pytest.mark.slow  # a run to the report, and six starts of another workflow
SWEEP = TINY | {"shapes": [{"M": 4, "N": 8}], "variants": ["torch_naive", "torch_softmax"]}


@pytest.fixture
def importing(tmp_path) -> Runner:
    """The example of the page, beside a copy of the project; and folders that Python might take."""
    folder = tmp_path / "mine"
    copies.copy_project(folder / "softmax-bench")
    shutil.rmtree(folder / "softmax-bench/data/recorded/h200")  # nothing to draw from it here
    (example,) = re.findall("```python\n(.*?)```", (ROOT / "docs/snakemake.md").read_text(), re.S)
    (folder / "Snakefile").write_text(f'configfile: "config.yaml"\n\n\n{example}')
    configure(folder, **SWEEP)
    for name in ("analysis", "measure", "kernels"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError('of another project')\n")
    return Runner(folder)


def configure(folder, **keys) -> None:
    (folder / "config.yaml").write_text(yaml.safe_dump({"softmax": keys}))


def test_the_example_runs_to_the_report(importing):
    done = importing()
    assert done.returncode == 0, done.stderr
    results = importing.folder / "softmax/results"
    report = (results / "report.md").read_text()
    assert "torch_naive" in report
    assert "figures/cpu_float32_tiny_time.png" in report
    assert (results / "figures/cpu_float32_tiny_time.png").exists()
    assert (results / "cells/.lock").exists(), "its onstart was called"
    assert not (importing.folder / "results").exists()
    assert importing.jobs() == {}
    importing.change("softmax-bench/kernels/published/torch_naive.py")
    assert importing.jobs()["softmax_point"] == 1


def test_in_another_directory_without_a_prefix(importing, tmp_path):
    importing.edit("Snakefile", '    prefix:\n        "softmax"\n', "")
    importing.edit(
        "Snakefile", '"softmax-bench/Snakefile"', f'"{importing.folder}/softmax-bench/Snakefile"'
    )
    there = tmp_path / "there"
    there.mkdir()
    configure(there, **SWEEP)
    done = importing("--directory", str(there), "softmax_summary")
    assert done.returncode == 0, done.stderr
    assert "torch_naive" in (there / "results/summary.csv").read_text()
    assert [path.name for path in importing.folder.glob("*results*")] == []


def test_two_sweeps_side_by_side(importing):
    text = (importing.folder / "Snakefile").read_text()
    first, _, rest = text.partition("onstart:")
    module = first[first.index("module") :]
    second = module.replace("softmax:", "wide:").replace('"softmax"\n', '"wide"\n')
    second = second.replace("softmax_*", "wide_*").replace("from softmax", "from wide")
    second = second.replace('config["softmax"]', 'config["softmax"] | {"seed": 5}')
    rest = rest.replace(
        "rules.softmax_report.output,", "rules.softmax_rows.input, rules.wide_rows.input"
    )
    (importing.folder / "Snakefile").write_text(f"{first}{second}\n\nonstart:{rest}")
    assert importing.jobs() == {"softmax_point": 2, "wide_point": 2, "all": 1}


def test_another_run_on_the_same_rows_is_refused(importing):
    cells = importing.folder / "softmax/results/cells"
    cells.mkdir(parents=True)
    with (cells / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = importing()
    assert done.returncode != 0
    assert f"another sweep runs in {cells}" in done.stderr + done.stdout
    assert not (cells / "cpu").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"variants": ["triton_onlin"]}, "did you mean triton_online"),
        ({"sweeps": "x"}, "unknown key 'sweeps'; did you mean 'sweep'"),
    ],
)
def test_a_bad_config_is_refused(importing, change, words):
    configure(importing.folder, **SWEEP | change)
    done = importing("-n")
    assert done.returncode != 0
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_snakefile_that_comes_alone_is_refused(importing):
    """As from a repository on the web, of which Snakemake takes this one file."""
    clone = importing.folder / "softmax-bench"
    git = ["git", "-C", str(clone), "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for words in (["init", "-q"], ["add", "Snakefile"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    alone = f'gitfile("{clone}", path="Snakefile", ref="HEAD")'
    importing.edit("Snakefile", '"softmax-bench/Snakefile"', alone)
    done = importing("-n")
    assert done.returncode != 0
    assert "Clone the project, and import the Snakefile of the clone" in done.stdout


def test_on_a_cluster_points_go_into_groups_under_the_importing_workflows_name(importing):
    configure(importing.folder, **SWEEP | {"gpus": ["a100", "h200"]})
    profile = importing.folder / "profile/profile.yaml"
    profile.parent.mkdir()
    text = (ROOT / "profiles/slurm/profile.yaml").read_text()
    profile.write_text(text.replace("\n  point:\n", "\n  softmax_point:\n"))
    done = importing("-n", "--workflow-profile", "profile")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"Group job point_(?:a100|h200)", done.stdout)) == 2
    configure(importing.folder, **SWEEP | {"gpus": ["mi300"]})
    assert "no line for 'mi300'" in importing("-n", "--workflow-profile", "profile").stdout
