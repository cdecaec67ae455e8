"""What Snakemake's own options and targets do in this workflow."""

import pytest
import yaml

from tests.workflow.runner import TINY, Runner, configure

DRAW = "collect summary claims gpu_figures report all"
# Options -> the rules of which jobs run, and those of which none does.
JOBS = {
    # each target that the documents name, of all jobs
    "-F rows": ("rows point", f"merge {DRAW}"),
    "-F summary": ("point merge summary", "claims gpu_figures report"),
    "-F claims": ("point merge claims", "summary gpu_figures report"),
    "-F figures": ("point gpu_figures", "summary report"),
    "-F report": ("point merge collect claims report", "gpu_figures summary all"),
    # an equal configuration, but the report tells the command that repeats it
    "--config gpus=[cpu]": ("report all", "point merge gpu_figures"),
    "--config gpus=[recorded]": (DRAW, "point merge"),
}


@pytest.mark.parametrize("options", JOBS)
def test_which_rules_run(finished_sweep, options):
    planned = set(Runner(finished_sweep[0]).jobs(*options.split()))
    rules, unchanged = map(str.split, JOBS[options])
    assert planned >= set(rules)
    assert not planned & set(unchanged)


def test_another_directory_has_all_that_is_made_and_may_have_keys_of_its_own(project, tmp_path):
    other = tmp_path / "other place"
    other.mkdir()
    keys = {"sweep": "mine", "gpus": ["recorded"], "variants": ["torch_naive", "torch_softmax"]}
    (other / "config.yaml").write_text(yaml.safe_dump(keys), encoding="utf-8")
    run, there = Runner(project), ("--directory", str(other))
    run(*there, "summary")
    assert (other / "results/recorded/summary.csv").stat().st_size > 10_000
    assert not (project / "results/recorded/summary.csv").exists()
    on_cpu = ("--config", "gpus=[cpu]", "shape=4x8")
    assert "sweep mine on cpu: 2 points" in run(*there, "-n", *on_cpu)
    assert "sweep shape on cpu" in run("-n", *on_cpu)


def test_a_directory_without_a_configuration_has_the_projects(project, tmp_path):
    configure(project)
    assert Runner(project).jobs("--directory", str(tmp_path / "empty"))["point"] == 8


def test_a_file_of_no_point_of_the_sweep_is_refused_in_words(finished_sweep):
    folder = "results/rows/cpu/softmax/float32/uniform/seed3407_blocks6/M4_N99"
    for name, words in (
        (f"{folder}/torch_naive.12345678.1.csv", "the sweep tiny has no row results/"),
        ("results/measurements/h200.csv", "the sweep tiny has no GPU h200: see its config"),
    ):
        assert words in Runner(finished_sweep[0])("-n", name, fails=True)


def test_a_project_in_a_folder_with_quotes_reports_what_is_recorded(project):
    odd = project.rename(project.with_name('odd $HOME "a" it\'s'))
    configure(odd, gpus=["recorded"])
    Runner(odd)("results/recorded/claims.csv")
    assert (odd / "results/recorded/claims.csv").stat().st_size > 1000
    braces = odd.rename(odd.with_name("odd {x}"))
    assert "braces in the path of the project" in Runner(braces)("-n", fails=True)


MODULE = """
module bench:
    snakefile: "{root}/Snakefile"
    config: config["bench"]

use rule * from bench as bench_*

rule mine:
    default_target: True
    input: "results/measurements.csv"
    output: "mine.txt"
    shell: "python3 -m helper > {{output}}"
"""


def test_another_workflow_uses_the_rules_as_a_module(project, tmp_path):
    """With its own config, which gives the keys that it changes, also within a table.

    The user's own rules run as without it: modules beside their Snakefile are found.
    """
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "Snakefile").write_text(MODULE.format(root="../project"), encoding="utf-8")
    (mine / "helper.py").write_text(
        "import os\nprint(os.environ.get('PYTHONSAFEPATH'))\n", encoding="utf-8"
    )
    config = TINY | {"variants": ["torch_softmax"]}
    (mine / "mine.yaml").write_text(yaml.safe_dump({"bench": config}), encoding="utf-8")
    runner = Runner(mine)
    jobs = runner.jobs("mine", "bench_report", "--configfile", "mine.yaml")
    assert (jobs["bench_point"], jobs["bench_report"], jobs["mine"]) == (2, 1, 1)
    runner("--configfile", "mine.yaml")
    assert (mine / "mine.txt").read_text(encoding="utf-8") == "None\n"
    assert (mine / "results/measurements.csv").exists()
