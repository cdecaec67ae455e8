"""How a worker ended that left no complete row, as its return code and its last stage tell."""

import json
import signal

import pytest

from measure.errors import NoRowError
from measure.process import run_point
from tests.bench import point

POINT = point(timeout_s=7)


@pytest.mark.parametrize(
    ("returncode", "kills", "status", "words"),
    [
        (None, 0, "timeout", "killed after 7 s, in stage: timing"),
        (-signal.SIGKILL, 1, "out_of_memory", "no memory was left, and Linux killed the process"),
        (-signal.SIGKILL, 0, "crash", "(signal SIGKILL) in stage: timing"),
        (3, 1, "crash", "(exit code 3) in stage: timing"),
    ],
)
def test_an_early_end_is_a_status(tmp_path, returncode, kills, status, words):
    progress = {"stage": "timing", "row": {"gpu": "cpu"}}
    (tmp_path / "progress.json").write_text(json.dumps(progress), encoding="utf-8")
    row, samples = run_point._row_of_worker(POINT, tmp_path, returncode, kills)
    assert (row["status"], samples) == (status, [])
    assert words in row["message"]


def test_before_the_device_is_open_an_end_is_no_row(tmp_path):
    with pytest.raises(NoRowError, match="exit code 1"):
        run_point._row_of_worker(POINT, tmp_path, 1, 0)


# tests/faults/test_disk.py has a folder without room
def test_what_keeps_a_point_from_starting_is_told(monkeypatch):
    def fails(*_):
        raise FileNotFoundError(2, "No such file or directory", "gone")

    monkeypatch.setattr(run_point.fork_client, "run_worker", fails)
    with pytest.raises(NoRowError, match=r"the point could not be started: .*'gone'"):
        run_point.measure_point(POINT)


def test_kills_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(run_point, "COUNTERS", tmp_path / "vmstat")
    assert run_point.oom_kills() == 0
    run_point.COUNTERS.write_text("nr_free_pages 12\noom_kill 3\nswap_ra 1\n", encoding="utf-8")
    assert run_point.oom_kills() == 3
