"""SIGKILL at any moment: nothing half done is taken for a row, and the same command goes on."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from measure import ROOT, row
from measure.point import Point
from tests.faults.sweeps import Sweep, configure, kill_group, read
from tests.marks import slow
from tests.processes import until
from tests.workflow.runner import UNTIL_MERGED

UNTIMED = "import triton\n"  # two of them run at once
# name: the status that an undisturbed run gives the kernel, what it does, what comes before
EVERY_STATUS = {
    "raises": ("crash", "raise ValueError('no')", UNTIMED),
    "exits": ("crash", "os._exit(7)", UNTIMED),
    "wrong": ("incorrect", "y.zero_()", UNTIMED),
    "refuses": ("unsupported", "pass", UNTIMED + "def unsupported(x): return 'no'\n"),
    "lacks": ("unavailable", "import not_there", UNTIMED),
    "broken": ("compile_error", "def broken(:", UNTIMED),
    "starves": ("out_of_memory", "raise MemoryError", UNTIMED),
    "right": ("interpreted", "pass", UNTIMED),
    "sleeps": ("timeout", "time.sleep(1000)", UNTIMED),
    "measured": ("ok", "pass", ""),
    "timed": ("ok", "y.add_(0)", ""),
}
# one row of a kernel that fails, one that is interpreted, one that is timed
THREE = {name: EVERY_STATUS[name] for name in ("raises", "right", "measured")}
TIMEOUT_S = 60.0  # far above what the others take, on a machine that halts for a while too
MOST_S = 4.0  # to wait for a row: "sleeps" gives none before its time is up


@pytest.mark.parametrize(("kernels", "wanted"), [(THREE, 1), slow(EVERY_STATUS, 20)])
def test_after_any_number_of_kills_the_same_command_completes(sweep, kernels, wanted):
    for name, (_, act, head) in kernels.items():
        sweep.write_kernel(name, act, head)
    names = list(kernels)
    configure(sweep.folder, shapes=[{"M": 4, "N": 8}], variants=names, timeout_s=TIMEOUT_S)
    expected = {(name, "8"): status for name, (status, *_) in kernels.items()}
    rng = random.Random(20)
    kept, kills = {}, 0
    while kills < wanted:
        process = sweep.start("--cores", "2", *UNTIL_MERGED)
        wait_for_a_moment(sweep, process, rng)
        ended = process.poll()
        kill_group(process)
        if ended == 0:  # all was done: leave something to do
            for path in rng.sample(sweep.rows(), len(expected) // 2):
                path.unlink()
                kept.pop(path)
        else:
            assert ended is None, sweep.printed()
            kills += 1
            sweep("--unlock")
        until(sweep.nothing_runs)  # sessions of their own, which no signal has reached, included
        for path in sweep.rows():
            read(path)
        done = sweep.complete()
        assert {path: done.get(path) for path in kept} == kept, "measured again, or lost"
        kept = done
    code, printed = sweep.run("--cores", "2", *UNTIL_MERGED)
    assert code == 0, printed
    assert sweep.statuses() == expected
    done = sweep.complete()
    assert len(done) == len(expected)
    assert {path: done[path] for path in kept} == kept, "measured again"
    assert sweep.merged() == expected
    assert sweep.litter() == set()
    until(sweep.nothing_runs)


def wait_for_a_moment(sweep: Sweep, process: subprocess.Popen, rng: random.Random) -> None:
    """One time in four while the sweep is planned, else soon after it measures, or a row more."""
    more, seconds = rng.choice([None, 0, 1, 1]), rng.uniform(0.0, 1.5)
    if more is not None:
        wanted, end = len(sweep.rows()) + more, time.monotonic() + MOST_S
        while process.poll() is None and time.monotonic() < end:
            if sweep.measures() and len(sweep.rows()) >= wanted:
                break
            time.sleep(0.02)
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.parametrize(
    "end",
    [lambda process: os.killpg(process.pid, signal.SIGINT), slow(subprocess.Popen.kill)],
    ids=["Ctrl-C", "SIGKILL of Snakemake alone"],
)
def test_nothing_of_a_snakemake_that_ended_runs_and_the_same_command_goes_on(sweep, end):
    sweep.write_kernel("waits", "open('begun', 'w').close()\nwhile True: time.sleep(1)")
    variants = ["waits", "torch_softmax"]
    configure(sweep.folder, variants=variants, shapes=[{"M": 4, "N": 8}])
    process = sweep.start(*UNTIL_MERGED)
    until((sweep.folder / "begun").exists)
    end(process)
    assert process.wait() != 0
    until(sweep.nothing_runs)
    assert not [path for path in sweep.rows() if path.name.startswith("waits")]
    sweep("--unlock")
    sweep.write_kernel("waits", "pass")
    code, printed = sweep.run(*UNTIL_MERGED)
    assert code == 0, printed
    assert set(sweep.merged().values()) == {"ok"}


GOOD = vars(Point("cpu", "float32", 4, 8, "torch_softmax"))
GOOD = {name: GOOD[name] for name in row.IDENTITY} | {"status": "ok"}

KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from measure import row

step, path = int(sys.argv[1]), Path(sys.argv[2])
seen = 0

def count():
    global seen
    seen += 1
    if seen == step:
        os.kill(os.getpid(), signal.SIGKILL)

def watch(event, arguments):
    if event in ("open", "os.rename") and str(arguments[0]).endswith(".tmp"):
        count()

os.fsync = lambda descriptor: count()
sys.addaudithook(watch)
row.write_row(path, {"status": "crash"}, [(0, 0, "variant", 1.5)])
"""

# The worker's parent and grandparent: the reaper and the fork server.
KILLS_WHO_WATCHES = """
parent = os.getppid()
grandparent = int(open(f'/proc/{parent}/stat').read().rpartition(')')[2].split()[1])
os.kill(grandparent, signal.SIGKILL)
os.kill(parent, signal.SIGKILL)
time.sleep(1000)
"""


# before each of open, flush, rename: of the samples, of the row
@pytest.mark.parametrize("step", range(1, 7))
def test_a_job_killed_while_it_writes_leaves_no_row_and_no_litter_for_good(tmp_path, step):
    path = tmp_path / "row.csv"
    words = [sys.executable, "-c", KILLED_WHILE_WRITING, str(step), str(path)]
    assert subprocess.run(words, cwd=ROOT).returncode == -signal.SIGKILL
    assert not path.exists()
    left = [p for p in tmp_path.iterdir() if p.suffix == ".tmp"]
    assert len(left) == (step not in (1, 4))
    row.write_row(path, GOOD, [])
    assert read(path)["status"] == "ok"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["row.csv", "row.samples.csv.gz"]


def test_a_worker_dies_when_its_reaper_and_the_server_are_killed_at_once(sweep):
    sweep.write_kernel("sleeps", KILLS_WHO_WATCHES)
    row, _ = sweep.point("sleeps")
    until(sweep.nothing_runs)
    assert row["status"] == "crash"
