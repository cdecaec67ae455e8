"""SIGKILL at any moment: nothing half done is taken for a row, and the same command goes on."""

import contextlib
import itertools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import row_files
from measure import row
from tests.bench import read_row
from tests.faults.sweeps import Sweep
from tests.marks import slow
from tests.processes import until
from tests.workflow.runner import UNTIL_MERGED, configure

# status that an undisturbed run gives the kernel: what it does, what comes before
KERNELS = {
    "crash": ("raise ValueError('no')", "import triton\n"),  # untimed: two of them run at once
    "interpreted": ("pass", "import triton\n"),
    "ok": ("pass", ""),
}


@pytest.mark.parametrize("wanted", [1, slow(20)])
def test_after_any_number_of_kills_the_same_command_completes(sweep, wanted):
    for name, (act, head) in KERNELS.items():
        sweep.write_kernel(f"is_{name}", act, head)
    expected = {(f"is_{name}", "8"): name for name in KERNELS}
    configure(sweep.folder, shapes=[{"M": 4, "N": 8}], variants=[name for name, _ in expected])
    rng = random.Random(20)
    kept, kills = {}, 0
    while kills < wanted:
        process = sweep.start("--cores", "2", *UNTIL_MERGED)
        wait_for_a_moment(sweep, process, rng)
        ended = process.poll()
        with contextlib.suppress(ProcessLookupError):  # all have ended
            os.killpg(process.pid, signal.SIGKILL)  # spares what is in another session
        process.wait()
        if ended == 0:  # all was done: leave something to do
            for path in rng.sample(sweep.rows(), len(expected) // 2):
                path.unlink()
                kept.pop(path, None)
        else:
            assert ended is None, sweep.printed()
            kills += 1
            sweep("--unlock")
        until(lambda: not sweep.processes())
        for path in sweep.rows():  # merging takes each
            row_files.check_samples(path)
            row_files.read_row_file(path)
        done = sweep.complete()
        assert {path: done.get(path) for path in kept} == kept, "measured again, or lost"
        kept = done
    code, printed = sweep.run("--cores", "2", *UNTIL_MERGED)
    assert code == 0, printed
    done = sweep.complete()
    assert len(done) == len(expected)
    assert {path: done[path] for path in kept} == kept, "measured again"
    assert sweep.merged() == expected
    files = [path for path in (sweep.folder / "results/rows").rglob("*") if path.is_file()]
    assert len(files) == 2 * len(expected), "neither a row nor samples"
    until(lambda: not sweep.processes())


def wait_for_a_moment(sweep: Sweep, process: subprocess.Popen, rng: random.Random) -> None:
    """One time in four while the sweep is planned, else soon after it measures, or a row more."""
    more, begun = rng.choice([None, 0, 1, 1]), len(sweep.rows())

    def has_more() -> bool:
        return sweep.measures() and len(sweep.rows()) >= begun + more

    if more is not None:
        until(lambda: process.poll() is not None or has_more())
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(rng.uniform(0.0, 1.5))


@pytest.mark.parametrize(
    "end",
    [lambda process: os.killpg(process.pid, signal.SIGINT), slow(subprocess.Popen.kill)],
    ids=["Ctrl-C", "SIGKILL of Snakemake alone"],
)
def test_nothing_of_a_snakemake_that_ended_runs_and_the_same_command_goes_on(sweep, end):
    sweep.write_kernel("waits", "open('begun', 'w').close()\nwhile True: time.sleep(1)")
    shapes = [{"M": 4, "N": 8}]
    configure(sweep.folder, variants=["waits", "torch_softmax"], shapes=shapes)
    process = sweep.start(*UNTIL_MERGED)
    until((sweep.folder / "begun").exists)
    end(process)
    assert process.wait() != 0
    until(lambda: not sweep.processes())
    assert not [path for path in sweep.rows() if path.name.startswith("waits")]
    sweep("--unlock")
    sweep.write_kernel("waits", "pass")
    code, printed = sweep.run(*UNTIL_MERGED)
    assert code == 0, printed
    assert set(sweep.merged().values()) == {"ok"}


def write_and_be_killed(step: int, path: Path) -> None:
    """Write a row, but die before a step of it; to be called in a separate process."""
    steps = itertools.count(1)

    def count(*_) -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple) -> None:
        if event in ("open", "os.rename") and str(arguments[0]).endswith(".tmp"):
            count()

    os.fsync = count
    sys.addaudithook(watch)
    row.write_row(path, {"status": "crash"}, [(0, 0, "variant", 1.5)])


# before each of open, flush, rename: of the samples, of the row
@pytest.mark.parametrize("step", range(1, 7))
def test_a_job_killed_while_it_writes_leaves_no_row_and_no_litter_for_good(tmp_path, step):
    path = tmp_path / "row.csv"
    job = multiprocessing.get_context("fork").Process(target=write_and_be_killed, args=(step, path))
    job.start()
    job.join()
    assert job.exitcode == -signal.SIGKILL
    assert not path.exists()
    left = [p for p in tmp_path.iterdir() if p.suffix == ".tmp"]
    assert len(left) == (step not in (1, 4))
    row.write_row(path, {"status": "ok"}, [])
    assert read_row(path)["status"] == "ok"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["row.csv", "row.samples.csv.gz"]
