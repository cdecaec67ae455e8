"""``make record`` without a GPU: what it refuses, and the commands that it would run."""

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from analysis import __main__ as cli
from measure.fingerprint import ROOT
from tests.analysis.test_check_recorded import make
from tests.workflow.runner import Runner
from tools import record


def call(project, gpu: bool, *sweeps: str):
    """``python -m tools.record``; ``gpu``: with an nvidia-smi that shows one."""
    tools = project.parent / "tools"
    tools.mkdir(exist_ok=True)
    if gpu:
        smi = tools / "nvidia-smi"
        smi.write_text("#!/bin/sh\necho NVIDIA GeForce RTX 4090\n")
        smi.chmod(0o755)
    return subprocess.run(
        [sys.executable, "-m", "tools.record", *sweeps],
        cwd=project,
        env={"PATH": f"{tools}:/usr/bin:/bin", "CC": sys.executable},
        capture_output=True,
        text=True,
    )


def git(project, *words):
    name = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    subprocess.run(["git", *name, *words], cwd=project, check=True, capture_output=True)


def test_without_a_gpu_it_refuses(project):
    done = call(project, gpu=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no GPU here that nvidia-smi shows")
    assert done.stderr.count("\n") == 1


def test_a_sweep_that_is_not_a_standard_one_is_refused(project):
    done = call(project, True, "frontier", "fused")
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'fused' is not one of the standard sweeps; did you mean ")
    assert "fused_softmax" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_not_committed_is_refused(project):
    done = call(project, gpu=True)
    assert done.returncode == 2
    assert "this is no git checkout" in done.stderr
    git(project, "init")
    git(project, "add", "--all")
    git(project, "commit", "--message", "all")
    (project / "kernels/contributed" / "mine.py").write_text("")
    done = call(project, gpu=True)
    assert done.returncode == 2
    assert "files are not committed (?? kernels/contributed/mine.py, 1 in all)" in done.stderr
    (project / "kernels/contributed" / "mine.py").unlink()
    assert not list((project / "results").glob("rec*ing"))


@pytest.mark.parametrize("sweep", record.SWEEPS)
def test_every_sweep_is_there_and_its_commands_are_sound(sweep):
    measure, keep = record.commands(sweep, "h200", Path("results/recording/h200"), "make record")
    given = dict(itertools.pairwise(measure))
    config = yaml.safe_load((ROOT / given["--configfile"]).read_text())
    assert config["sweep"] == sweep
    assert given["--config"] == "gpus=[h200]"
    assert cli._parser().parse_args(keep[3:]).reproduce_with == "make record"


def test_each_gpu_of_the_kind_has_a_point_that_waits_for_it(monkeypatch):
    monkeypatch.setattr(record.gpus, "visible", lambda: ["h200", "h200", "a100"])
    measure, _ = record.commands("frontier", "h200", Path("results/recording/h200"), "make record")
    assert dict(itertools.pairwise(measure))["--resources"] == "gpu=4"


def test_what_was_recorded_before_is_replaced_and_the_rest_kept(tmp_path):
    staging, recorded = tmp_path / "recording" / "h200", tmp_path / "recorded" / "h200"
    for path, text in (
        (staging / "a.csv", "new"),
        (recorded / "a.csv", "old"),
        (recorded / "b", ""),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    record.replace(staging, recorded)
    assert {path.name: path.read_text() for path in recorded.iterdir()} == {"a.csv": "new", "b": ""}
    assert not staging.exists()


@pytest.mark.slow
def test_a_contributed_gpu_is_in_every_figure_and_in_the_report(project, tmp_path):
    recorded = project / "data" / "recorded"
    shutil.rmtree(recorded)
    shutil.copytree(make(tmp_path), recorded / "rtx4090")
    done = Runner(project)("--configfile", "sweeps/recorded.yaml")
    assert done.returncode == 0, done.stderr
    figures = project / "results" / "figures"
    for kind in ("time", "throughput", "speedup"):
        drawn = (figures / f"rtx4090_float32_online_softmax_{kind}.svg").read_text()
        assert "triton_row" in drawn
    assert "RTX 4090" in (figures / "overview.svg").read_text()
    for report in ("report.md", "report.html"):
        assert "NVIDIA GeForce RTX 4090" in (project / "results" / report).read_text()
