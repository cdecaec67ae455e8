"""Large sweeps: they work, and what is done for them grows as their points do.

No test asserts a time: calls and opened files are counted. docs/scale.md has the seconds.
"""

import gc
import re
import subprocess
import sys
import threading
from collections import defaultdict
from types import SimpleNamespace

import pandas as pd
import pytest

from analysis import claims, collect, merge, published, report, summary
from analysis.frame import load
from measure.fingerprint import ROOT
from studies.scale import measure as stages
from studies.scale import project
from workflow import pace, sweep

pytestmark = pytest.mark.slow


def snakemake(folder, *options: str) -> str:
    """What Snakemake says of the sweep in ``folder``."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    done = subprocess.run(
        [*command, *options],
        cwd=ROOT,
        env=project.environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def hundred(tmp_path):
    """A sweep of 100 points, in which a stand-in takes the place of measuring."""
    project.prepare(tmp_path / "sweep", 100)
    return tmp_path / "sweep"


def test_a_thousand_points_are_planned_and_merged(tmp_path):
    folder = tmp_path / "sweep"
    project.prepare(folder, 1_000)
    assert re.search(r"^point +1000$", snakemake(folder, "-n"), re.M)
    for stage in stages.stages(folder, 1_000):
        if stage.name in ("merge", "collect"):
            stages.run(stage, folder)
    table = load(folder / "analysis/measurements.csv")
    assert (table["origin"] == "measured").sum() == 1_000
    assert set(table.loc[table["origin"] == "measured", "status"]) == {"ok"}


def test_a_sweep_runs_in_batches(hundred):
    """As docs/scale.md says for sweeps too large for one call."""
    for number in (1, 2):
        snakemake(hundred, "--batch", f"all={number}/3")
        assert not (hundred / "results/measurements").exists()
    assert len(list((hundred / "results/cells").rglob("*[a-z].csv"))) < 100
    snakemake(hundred, "--batch", "all=3/3", "--until", "collect")
    table = load(hundred / "results/measurements.csv")
    assert (table["origin"] == "measured").sum() == 100
    assert "point" not in re.findall(r"^(\w+) +\d+$", snakemake(hundred, "-n"), re.M)


def test_snakemake_looks_for_jobs_only_when_one_has_ended(hundred):
    """See workflow/pace.py."""
    said = snakemake(hundred, "--until", "point", "--verbose")
    looks = len(re.findall(r"^Ready (?:subsampled )?jobs", said, re.M))
    assert 50 <= looks <= 110


def test_a_look_for_jobs_is_at_a_hundred_of_those_that_are_ready(tmp_path):
    folder = tmp_path / "sweep"
    project.prepare(folder, 1_000)
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    process = subprocess.Popen(
        [*command, "--until", "point", "--verbose"],
        cwd=ROOT,
        env=project.environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    looks = (line for line in process.stdout if re.match("Ready (?:subsampled )?jobs", line))
    found = [next(looks).split()[2] for _ in range(20)]
    process.kill()
    process.communicate()
    assert set(found) == {"100"}


class Job:
    """As much of Snakemake's as says which files are pipes."""

    __slots__ = ["asked", "pipe_or_service_output"]

    def __init__(self, pipes=()):
        self.asked, self.pipe_or_service_output = 0, pipes

    def is_pipe_or_service_input(self, path):
        self.asked += 1
        return True


@pytest.mark.parametrize(("count", "pipes", "asked"), [(1000, (), 0), (1000, "x", 1), (10, (), 1)])
def test_many_files_are_not_asked_each_whether_they_are_pipes(count, pipes, asked):
    merge, points = Job(), [Job() for _ in range(count - 1)] + [Job(pipes)]
    dag = SimpleNamespace(jobs=[merge, *points], dependencies=defaultdict(list, {merge: points}))
    settings = SimpleNamespace(scheduler="ilp")
    workflow = SimpleNamespace(dag=dag, scheduler=Job, scheduling_settings=settings)
    pace.run(workflow)
    gc.unfreeze()
    assert merge.is_pipe_or_service_input("row.csv") == bool(asked)
    assert merge.asked == asked


class Counted:
    """``with Counted() as found``: calls of Python functions, and opened files, in this thread."""

    listening: "Counted | None" = None
    calls = opened = 0

    def __enter__(self):
        Counted.listening = self
        self.thread = threading.get_ident()
        self.before = sys.getprofile()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        sys.setprofile(self.before)
        Counted.listening = None

    def _profile(self, frame, event, argument):
        self.calls += event == "call"


@sys.addaudithook
def _opens(event, arguments):
    """An audit hook cannot be taken away again: it counts for whoever listens."""
    if event == "open" and (found := Counted.listening) and found.thread == threading.get_ident():
        found.opened += 1


def frames(folder, count: int) -> dict:
    """The steps from ``count`` rows to the report, each a function to be counted."""
    points = sweep.points(project.config(1_000), "h200")[:count]
    cells = [folder / "ready" / sweep.row_path(p) for p in points]
    merged, table = folder / f"{count}.csv", folder / f"all{count}.csv"
    merge.merge_cells(cells, "scale", merged)
    collect.collect([merged], [], table)
    data, tables = load(table), published.load(ROOT / "results/published")
    ranks, found = summary.summarise(data), claims.table.check(data, tables)
    ranks["best"], ranks["lead_sure"] = ranks["best"].astype(bool), ranks["lead_sure"].astype(bool)
    return {
        "points": lambda: [sweep.options(p) for p in points],
        "merge": lambda: merge.merge_cells(cells, "scale", merged),
        "collect": lambda: collect.collect([merged], [], table),
        "load": lambda: load(table),
        "summary": lambda: summary.summarise(data),
        "claims": lambda: claims.table.check(data, tables),
        "report": lambda: report.write(
            data, ranks, pd.DataFrame(found), tables, folder, "none", folder / "report.md"
        ),
    }


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """step -> (calls, opened files) at 200, 400 and 800 points."""
    folder = tmp_path_factory.mktemp("counts") / "sweep"
    project.prepare(folder, 1_000)
    found = {}
    for count in (200, 400, 800):
        for name, step in frames(folder, count).items():
            step()  # what is loaded or remembered once is no growth
            with Counted() as counted:
                step()
            found.setdefault(name, []).append((counted.calls, counted.opened))
    return found


@pytest.mark.parametrize(
    "step", ["points", "merge", "collect", "load", "summary", "claims", "report"]
)
def test_no_step_grows_faster_than_the_points(counts, step):
    (few, _), (some, _), (many, _) = counts[step]
    assert many - some <= 2.2 * (some - few) + 1000


def test_merging_opens_every_file_once(counts):
    opened = [number for _, number in counts["merge"]]
    assert opened[1] - opened[0] == 2 * 200  # the row and its samples
    assert opened[2] - opened[1] == 2 * 400


def test_no_other_step_opens_more_files_for_more_points(counts):
    for name in ("collect", "load", "summary", "claims", "report"):
        assert len({number for _, number in counts[name]}) == 1, name
