"""`make record` without a GPU: what it refuses, and the commands that it would run."""

import subprocess
import sys

import pandas as pd
import pytest

from analysis import claims, published
from measure import ROOT, row
from planning import points
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of
from tests.measure import nvml
from tests.planning.test_points import DEFAULT, overlay
from tools import readme, record


def refusal(project, *sweeps: str, gpu: bool = True) -> str:
    """The one line of `python -m tools.record`; `gpu`: with NVML, which shows some."""
    fake = project.parent / "nvml"
    fake.mkdir(exist_ok=True)
    (fake / "pynvml.py").write_text(nvml.FAKE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tools.record", *sweeps],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "CC": sys.executable, "PYTHONPATH": str(fake) if gpu else ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    return line


def test_what_cannot_be_recorded_is_refused_in_one_line(project):
    assert refusal(project, gpu=False).startswith("error: no GPU here that NVML shows")
    line = refusal(project, "frontier", "fused")
    assert line.startswith("error: 'fused' is not one of the standard sweeps; did you mean ")
    assert "fused_softmax" in line
    assert "this is no git checkout" in refusal(project)
    name = "-c user.name=test -c user.email=test@localhost"
    script = f"git init && git add --all && git {name} commit --message all"
    subprocess.run(["bash", "-c", script], cwd=project, check=True, capture_output=True)
    (project / "kernels/contributed/mine.py").write_text("", encoding="utf-8")
    edited = "files are not committed (?? kernels/contributed/mine.py, 1 in all)"
    assert edited in refusal(project)
    assert not (project / "results").exists()


@pytest.mark.parametrize("fails", [False, True])
def test_each_sweep_is_recorded_after_it_is_measured(monkeypatch, capsys, fails):
    done = []

    def run(words, **options):
        done.append(words[words.index("--configfile") + 1])
        return subprocess.CompletedProcess(words, 3 * fails)

    monkeypatch.setattr(record, "fault_of", lambda sweeps: None)
    monkeypatch.setattr(record.gpus, "visible_slugs", lambda: ["h200"])
    monkeypatch.setattr(record.subprocess, "run", run)
    monkeypatch.setattr(record.recorded, "record", lambda *arguments: done.append(arguments))
    monkeypatch.setattr(record.recorded, "check_folders", lambda folders: "all correct")
    assert record.main(["peers", "frontier"]) == int(fails)
    again, folder = 'make record SWEEPS="peers frontier"', ROOT / "data/recorded/h200"
    kept = ROOT / "results/measurements/h200.csv", ROOT / "results/rows", folder, again
    every = ["sweeps/peers.yaml", kept, "sweeps/frontier.yaml", kept]
    assert done == (every[:1] if fails else every)
    said = capsys.readouterr()
    assert ("h200 is ready" in said.out) != (f"call `{again}` again" in said.err) == fails
    assert ("not recorded: snakemake ended with 3. The measured rows" in said.err) == fails


@pytest.fixture(scope="module")
def recorded():
    """The points that `make record` measures, by sweep."""
    return {sweep: points.expand(overlay(sweep), "h200") for sweep in record.SWEEPS}


def test_the_default_sweep_is_a_part_of_the_recorded_one(recorded):
    """So a run can be compared with recorded rows, and README.md knows its minutes."""
    assert set(points.expand(DEFAULT, "h200")) < set(recorded["online_softmax"])


def test_every_claim_and_every_line_of_the_readme_has_its_recorded_points(recorded):
    rows = []
    for sweep, own in recorded.items():
        identities = [{name: getattr(point, name) for name in row.IDENTITY} for point in own]
        rows.append(frame_of((synthetic.row(**identity) for identity in identities), sweep))
    sources = published.load(ROOT / "data/published")
    checked = claims.check(pd.concat(rows, ignore_index=True), sources).query("dtype == 'float32'")
    judged = checked.query("origin == 'measured' and verdict != 'no data'")
    assert set(judged["quantity"]) == {claim.quantity for claim in claims.CLAIMS}
    timed = {(p.op, p.dtype, p.M, p.N) for own in recorded.values() for p in own}
    assert {*readme.POINTS} <= timed


def test_a_sweep_has_its_name_and_each_gpu_of_the_kind_a_point_that_waits_for_it(monkeypatch):
    monkeypatch.setattr(record.gpus, "visible_slugs", lambda: ["h200", "h200", "a100"])
    for sweep, replicates in record.SWEEPS.items():
        words = f"snakemake --cores all --until merge --resources gpu=4 --configfile sweeps/{sweep}"
        words += f".yaml --config gpus=[h200] replicates={replicates}"
        assert record.command(sweep, "h200") == words.split()
        assert overlay(sweep)["sweep"] == sweep
