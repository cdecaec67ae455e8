"""Kernels from outside the project in a sweep."""

import csv
import os
import subprocess
import sys

import pytest

import kernels
from kernels.registry import discover
from measure import __main__ as command_line
from planning import config as checks
from planning import points
from tests.planning.test_config import edited
from tests.workflow.runner import Runner, configure

HELPER = "def weights(x):\n    return (x - x.amax(-1, keepdim=True)).exp()\n"
KERNEL = """import torch
from helper import weights


def softmax(x, out=None):
    y = weights(x.float())
    y = (y / y.sum(-1, keepdim=True)).to(x.dtype)
    return y if out is None else out.copy_(y)
"""
NAME = 'it\'s; $(touch gone) "mine"'  # a folder that a shell would take for several words


@pytest.fixture
def mine(tmp_path):
    """A kernel outside the project, and what it imports beside it."""
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "helper.py").write_text(HELPER)
    (folder / "mine.py").write_text(KERNEL)
    cached = (kernels.add, kernels.ops, kernels.sources, kernels.sha256, kernels.packages)
    yield folder / "mine.py"
    discover._added.clear()
    for function in cached:
        function.cache_clear()


def test_all_includes_the_files_and_each_point_names_only_its_own(mine):
    config = edited(kernels=[str(mine)], shapes=[{"M": 4, "N": 8}])
    checks.check(config, [])
    by_variant = {point.variant: point for point in points.expand(config, "h200")}
    assert set(by_variant) == {*kernels.by_default("softmax"), "mine"}
    assert by_variant["mine"].files == (str(mine),)
    assert {p.files for name, p in by_variant.items() if name != "mine"} == {()}


@pytest.mark.parametrize("name", ["mine.py", "--mine/mine.py"])
def test_the_options_of_a_point_name_the_file(mine, monkeypatch, name):
    monkeypatch.chdir(mine.parent)
    (mine.parent / "--mine").mkdir()
    (mine.parent / "--mine" / "mine.py").write_text(KERNEL)
    (point,) = points.expand(
        edited(kernels=[name], shapes=[{"M": 4, "N": 8}], variants=["mine"]), "h200"
    )
    words = ["point", *points.options(point), "--variant", "mine", "--M", "4", "--N", "8"]
    given = command_line.parser().parse_args([*words, "--output", "row.csv"])
    assert tuple(given.files) == point.files == (name,)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["absent.py"], "kernels[0]: kernel 'absent.py': no such file; name a .py file"),
        ("mine.py", "kernels = 'mine.py': must be a list"),
        ([7], "kernels[0] = 7: must be text"),
    ],
)
def test_files_that_cannot_be_are_refused(given, words):
    with pytest.raises(checks.ConfigError) as raised:
        checks.check(edited(kernels=given), [])
    assert words in str(raised.value)


def test_a_file_named_as_one_of_ours_is_refused(mine):
    other = mine.rename(mine.with_name("triton_row.py"))
    with pytest.raises(checks.ConfigError, match="the project has a variant 'triton_row', too"):
        checks.check(edited(kernels=[str(other)]), [])


@pytest.fixture
def owner():
    """A process for which points are measured."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def test_a_server_measures_it_too(project, mine, owner):
    words = ["--gpu", "cpu", "--M", "4", "--N", "8", "--blocks", "6", "--kernel", str(mine)]
    words = [sys.executable, "-m", "measure", "point", *words, "--served-for", str(owner)]
    for number in range(2):
        done = subprocess.run(
            [*words, "--output", f"{number}.csv"],
            cwd=project,
            env={key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ},
            capture_output=True,
            text=True,
        )
        assert "status      ok" in done.stdout, done.stderr
        assert "fresh Python" not in done.stderr
        mine.write_text(KERNEL + "EDITED = True\n")  # which the server has not seen
    digests = [(project / f"{number}.csv").read_text() for number in range(2)]
    kernels.add(mine)
    assert [kernels.sha256("mine", "cpu") in text for text in digests] == [False, True]


@pytest.mark.slow
def test_a_kernel_finds_what_lies_on_the_user_s_python_path(project, mine, tmp_path, monkeypatch):
    elsewhere = tmp_path / NAME / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far_helper.py").write_text(HELPER)
    mine.write_text(KERNEL.replace("from helper", "from far_helper"))
    monkeypatch.setenv("PYTHONPATH", str(elsewhere))
    configure(project, kernels=[str(mine)], variants=["mine"])
    done = Runner(project)("rows")
    assert done.returncode == 0, done.stderr
    paths = sorted((project / "results/cells").rglob("mine.1.csv"))
    assert len(paths) == 2
    for path in paths:
        with path.open(newline="") as file:
            row = next(csv.DictReader(file))
        assert (row["status"], row["message"]) == ("ok", "")


def test_a_sweep_measures_it_again_when_it_or_what_it_imports_was_edited(project, mine):
    """The path is relative to where jobs run."""
    given = f"../{NAME}/mine.py"
    configure(project, kernels=[given], variants=["torch_softmax", "mine"])
    runner = Runner(project)
    done = runner("rows")
    assert done.returncode == 0, done.stderr
    rows = sorted((project / "results/cells").rglob("mine.1.csv"))
    assert len(rows) == 2
    with rows[0].open(newline="") as file:
        row = next(csv.DictReader(file))
    assert row["status"] == "ok"
    assert row["variant"] == "mine"
    kernels.add(mine)
    assert row["kernel_sha256"] == kernels.sha256("mine", "cpu")
    assert not list(project.rglob("gone")) + list(mine.parent.rglob("gone"))

    assert runner.jobs("rows") == {}
    (mine.parent / "helper.py").write_text(f"{HELPER}EDITED = True\n")
    assert runner.jobs("rows") == {"point": 2, "rows": 1}
    (mine.parent / "helper.py").write_text(HELPER)
    (mine.parent / "another.py").write_text(KERNEL)
    configure(
        project,
        kernels=[given, f"../{NAME}/another.py"],
        variants=["torch_softmax", "mine", "another"],
    )
    # those of the new one; that it is in the list measures nothing again
    assert runner.jobs("rows") == {"point": 2, "rows": 1}
