"""What is shown of a run, from single events up to a real one in a terminal."""

import errno
import fcntl
import io
import logging
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from measure import row
from measure.fingerprint import ROOT
from workflow import progress, sweep
from workflow.tally import Tally, duration

POINT = {
    **{"gpu": "cpu", "op": "softmax", "dtype": "float32", "distribution": "uniform"},
    **{"M": "4", "variant": "torch_naive"},
}


class Screen(io.StringIO):
    """A stream that says of itself that it is a terminal, or not."""

    def __init__(self, terminal: bool):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal

    def shown(self) -> list[str]:
        """What is left on the screen: a line that was erased is not."""
        lines = self.getvalue().removesuffix("\n").split("\n")
        return [re.sub(r".*\x1b\[K", "", line) for line in lines if line]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Start a run with a display, without Snakemake: ``run(terminal)`` gives it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "TICK_S", 1000)  # drawn when a test says so
    started = []

    def start(terminal=False, points=3, planned=3, **look):
        display = Run(Screen(terminal), points, **look)
        display.send("run_info", stats={"point": planned, "merge": 1, "total": planned + 1})
        started.append(display)
        return display

    yield start
    for display in started:
        display.handler.close()


class Run:
    """Events as Snakemake sends them."""

    def __init__(self, screen, points, shows=True, remote=False, off=False):
        self.screen = screen
        behind = logging.StreamHandler(screen) if shows else None
        log = Path("progress.log")
        self.handler = progress.Display(points, log, behind, lambda: remote, lambda: off)

    def send(self, event=None, text="", level=logging.INFO, **fields):
        record = logging.LogRecord("test", level, __file__, 1, text, None, None)
        vars(record).update(fields, **({"event": event} if event else {}))
        self.handler.handle(record)

    def begin(self, job: int, rule="point"):
        wildcards = POINT | {"N": str(job)} if rule == "point" else {}
        words = f"torch_naive 4x{job}" if rule == "point" else None
        fields = {"jobid": job, "rule_name": rule, "rule_msg": words, "wildcards": wildcards}
        self.send("job_info", f" Rule: {rule}, Jobid: {job}", **fields)

    def write(self, job: int, status: str):
        path = Path(sweep.ROW.format(**POINT, N=job))
        row.write(path, {"status": status, "message": "two, words"}, [])

    def finish(self, job: int, status: str | None = "ok"):
        if status:
            self.write(job, status)
        self.send("job_finished", f"Finished jobid: {job}", job_id=job)

    def fail(self, job: int):
        self.send("job_error", f"Error in rule point, jobid: {job}", logging.ERROR, jobid=job)

    def log(self) -> list[str]:
        """Lines of the log, without their time."""
        lines = Path("progress.log").read_text().splitlines()
        assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in lines)
        return [line[20:] for line in lines]


def test_every_point_is_in_the_log_and_the_screen_has_what_matters(run):
    shown = run()
    for job, status in ((1, "ok"), (2, "unsupported"), (3, "ok")):
        shown.begin(job)
        shown.finish(job, status)
    shown.begin(4, "merge")
    shown.finish(4, None)
    assert shown.log() == [
        "3 points to measure, then 1 step to the report",
        "1 of 3 points: ok, torch_naive 4x1",
        "2 of 3 points: unsupported, torch_naive 4x2",
        "3 of 3 points: ok, torch_naive 4x3",
        "3 of 3 points in 1 s: 2 ok, 1 unsupported",
        "1 of 1 steps: merge",
    ]
    assert shown.screen.shown() == [shown.log()[0], shown.log()[4]]


def test_complete_points_are_no_work(run):
    shown = run(points=172, planned=2)
    shown.begin(1)
    assert shown.log() == ["2 of 172 points to measure, then 1 step to the report"]


def test_a_run_without_points_tells_of_none(run):
    shown = run(planned=0)
    shown.begin(4, "merge")
    shown.finish(4, None)
    shown.handler.close()
    assert len(shown.screen.shown()) == 1


def test_a_terminal_has_one_line_that_is_erased_before_anything_else(run):
    shown = run(terminal=True)
    shown.begin(1)
    shown.finish(1)
    shown.begin(2)
    shown.begin(3)
    shown.handler._refresh(time.monotonic())
    assert re.fullmatch(
        r"1 of 3 points \(33 %\), \d+ s left \| 1 ok \| now torch_naive 4x2 and 1 more",
        shown.screen.shown()[-1],
    )
    shown.send(text="something went wrong", level=logging.ERROR)
    assert shown.screen.shown()[1:] == ["something went wrong"]
    shown.handler._refresh(time.monotonic())
    shown.handler.close()
    assert shown.screen.shown()[2:] == ["stopped after 1 of 3 points in 1 s: 1 ok"]


def test_without_a_terminal_a_line_comes_now_and_then(run):
    shown = run()
    shown.begin(1)
    begun = time.monotonic()
    for seconds in (1, 10, 31, 32, 70, 71):
        shown.handler._refresh(begun + seconds)
    assert shown.screen.shown()[1:] == ["0 of 3 points (0 %) | now torch_naive 4x1"] * 2


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("job_started", "Execute 1 jobs..."),
        ("progress", "1 of 9 steps (11%) done"),
        ("shellcmd", "python3 -m measure"),
        ("resources_info", "Provided cores: 2"),
        ("workflow_started", "Workflow has started!"),
        (None, "Select jobs to execute..."),
        (None, "Job 7 has been submitted with SLURM jobid 12 (log: x.log)."),
    ],
)
def test_what_is_said_of_every_job_is_left_out(run, event, text):
    shown = run()
    shown.send(event, text)
    assert shown.screen.shown() == []


@pytest.mark.parametrize(
    ("event", "text", "level"),
    [
        ("job_error", "Error in rule merge", logging.ERROR),
        ("group_error", "Error in group a", logging.ERROR),
        ("error", "WorkflowError", logging.ERROR),
        (None, "Exiting because a job execution failed.", logging.ERROR),
        (None, "a warning", logging.WARNING),
        (None, "Nothing to be done", logging.INFO),
        (None, "Creating conda environment environment.yml...", logging.INFO),
        ("debug_dag", "candidate job", logging.INFO),
    ],
)
def test_all_else_is_shown(run, event, text, level):
    shown = run()
    shown.send(event, text, level, jobid=77)
    assert shown.screen.shown() == [text]


def test_a_failed_point_counts_once_and_the_rest_goes_on(run):
    shown = run()
    shown.begin(1)
    shown.fail(1)
    shown.fail(1)  # of its group as well
    shown.begin(2)
    shown.finish(2, "crash")
    assert shown.handler._tally.line(time.monotonic(), []).endswith("| 1 crash, 1 failed")
    shown.begin(3)
    shown.finish(3)
    assert shown.log()[-1] == "2 of 3 points in 1 s: 1 ok, 1 crash, 1 failed"


def test_rows_of_a_group_that_runs_elsewhere_count_when_they_appear(run):
    shown = run(remote=True)
    for job in (1, 2, 3):
        shown.begin(job)
    shown.write(1, "ok")
    shown.write(3, "crash")
    shown.handler._refresh(time.monotonic() + progress.EVERY_S)
    # what was submitted may still wait, so nothing is said to be measured now
    assert re.search(r"2 of 3 .* \| 1 ok, 1 crash$", shown.screen.shown()[-1])
    for job in (1, 2, 3):  # now the group has ended
        shown.finish(job, "ok" if job == 2 else None)
    assert shown.log()[-1] == "3 of 3 points in 1 s: 2 ok, 1 crash"
    assert len(shown.log()) == 5
    shown.fail(1)
    assert shown.handler._tally.failed == 0


def test_rows_that_lie_here_from_before_are_not_counted_where_snakemake_tells(run):
    shown = run()
    shown.write(1, "ok")
    shown.begin(1)
    shown.handler._refresh(time.monotonic() + progress.EVERY_S)
    assert shown.screen.shown()[-1].startswith("0 of 3 points")


@pytest.mark.parametrize("content", [None, b"", b"status\n", b"status\n\xff\n", b"gpu,M\ncpu,4\n"])
def test_a_row_that_cannot_be_read_is_told_and_ends_nothing(run, tmp_path, content):
    shown = run(planned=1)
    shown.begin(1)
    if content is not None:
        path = Path(sweep.ROW.format(**POINT, N=1))
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    shown.finish(1, None)
    assert "1 unreadable" in shown.log()[-1]


def test_an_event_that_is_not_understood_gives_the_screen_back(run):
    shown = run()
    shown.send("job_info", "Rule: point")  # without any of its fields
    shown.begin(1)
    shown.send(text="Select jobs to execute...")
    words = ["Rule: point", " Rule: point, Jobid: 1", "Select jobs to execute..."]
    assert shown.screen.shown()[1:] == words
    shown.handler.close()
    assert shown.screen.shown()[1:] == words


def test_a_log_that_cannot_be_written_gives_the_screen_back(run):
    Path("progress.log").mkdir()
    shown = run()
    shown.begin(1)
    shown.finish(1)
    assert shown.screen.shown()[-1] == "Finished jobid: 1"


def test_a_display_without_a_screen_writes_its_log_alone(run):
    shown = run(shows=False)
    shown.begin(1)
    shown.finish(1)
    shown.handler.close()
    assert [line.split(" in ")[0] for line in shown.log()] == [
        "3 points to measure, then 1 step to the report",
        "1 of 3 points: ok, torch_naive 4x1",
        "stopped after 1 of 3 points",
    ]


def test_a_run_that_measures_nothing_is_told_by_snakemake(run):
    shown = run(off=True)
    shown.begin(1)
    shown.finish(1)
    shown.handler.close()
    assert [words.strip() for words in shown.screen.shown()] == [
        *("Rule: point, Jobid: 1", "Finished jobid: 1")
    ]
    assert not Path("progress.log").exists()


@pytest.mark.parametrize("width", [1, 3, 10, 40, 200])
def test_a_line_never_fills_the_width(width):
    text = "x" * 80
    assert len(progress.shortened(text, width)) < width
    assert progress.shortened(text, 200) == text


def test_the_time_left_follows_the_recent_pace():
    tally = Tally(points=1000, steps=1, start=0.0)
    assert tally.left_s(100.0) is None
    for second in range(10, 1010, 10):  # a hundred points, ten seconds each
        tally.finish("ok", second)
    assert tally.left_s(1000.0) == pytest.approx(9000)
    assert tally.left_s(1004.0) == pytest.approx(8996)
    assert tally.left_s(1040.0) > 9000  # a point that takes longer than expected
    for second in range(1001, 1401):  # then a second each
        tally.finish("ok", second)
    assert tally.left_s(1400.0) == pytest.approx(500)


def test_the_time_left_knows_points_that_end_all_at_once():
    """As those of a group do, which Snakemake tells when the group has ended."""
    tally = Tally(points=400, steps=1, start=0.0)
    for end in (600.0, 1200.0):
        for number in range(100):
            tally.finish("ok", end + number / 1000)
    assert tally.left_s(1200.1) == pytest.approx(1200, rel=0.02)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0, "1 s"), (45.4, "45 s"), (89, "89 s"), (100, "2 min"), (3600, "60 min")),
        *((5400, "1 h 30 min"), (19_200, "5 h 20 min"), (277_200, "3 d 5 h")),
    ],
)
def test_durations_are_said_shortly(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("settings", "main", "listens", "shows"),
    [
        ({}, True, True, True),
        ({"dryrun": True}, True, False, False),
        ({}, False, False, False),
        ({"quiet": {progress.Quietness.ALL}}, True, True, False),
        ({"quiet": {progress.Quietness.PROGRESS, progress.Quietness.RULES}}, True, False, False),
        ({"quiet": {progress.Quietness.HOST}}, True, True, True),
        ({"verbose": True}, True, True, False),
        ({"printshellcmds": True}, True, True, False),
    ],
)
def test_who_gets_a_display(monkeypatch, settings, main, listens, shows):
    own = logging.Logger("own")
    screen = logging.StreamHandler(Screen(False))
    screen.set_name("DefaultStreamHandler")
    own.addHandler(screen)
    monkeypatch.setattr(progress, "logger", own)
    usual = dict.fromkeys(("dryrun", "verbose", "printshellcmds", "debug_dag"), False)
    given = SimpleNamespace(**(usual | {"quiet": None} | settings))
    progress.show(SimpleNamespace(output_settings=given, is_main_process=main), points=1)
    assert any(isinstance(handler, progress.Display) for handler in own.handlers) == listens
    assert (screen not in own.handlers) == shows


# real runs

TINY = {
    **{"sweep": "tiny", "gpus": ["cpu"], "shapes": [{"M": 4, "N": [8, 13]}]},
    **{"variants": ["torch_naive", "torch_softmax"], "time_budget_s": 0.05},
}


def snakemake(*options: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", "--cores", "2", "--until", "merge", *options]


@pytest.fixture
def small(project):
    """A project whose sweep has four points."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text()) | TINY
    (project / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return project


STAND_IN = """\
#!{python}
import os, sys, time
from pathlib import Path

if sys.argv[1:4] != ["-m", "measure", "point"]:
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
if {fails}:
    sys.exit("the pipeline is at fault")
from measure import row

time.sleep({seconds})
given = dict(zip(sys.argv[4::2], sys.argv[5::2]))
names = ("gpu", "op", "dtype", "distribution", "M", "N", "variant")
point = {{name: given["--" + name] for name in names}}
row.write(Path(given["--output"]), point | {{"status": "ok", "seed": 1}}, [])
"""


def in_place_of_python(folder: Path, seconds: float = 0.0, fails: bool = False) -> dict[str, str]:
    """The PATH in which measuring a point only takes so many seconds, or fails."""
    path = folder / "bin/python3"
    path.parent.mkdir()
    path.write_text(STAND_IN.format(python=sys.executable, seconds=seconds, fails=fails))
    path.chmod(0o755)
    return {"PATH": f"{path.parent}:{environment()['PATH']}"}


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "COLUMNS")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return kept | {"PATH": path, "TERM": "xterm", "PYTHONDONTWRITEBYTECODE": "1"} | more


def in_a_terminal(folder: Path, *options: str, columns=70, interrupt="", **more) -> tuple[int, str]:
    """Exit code and all that a run wrote to a terminal of so many columns.

    ``interrupt``: Ctrl-C is typed once this was written.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = snakemake(*options)
    process = subprocess.Popen(
        command, cwd=folder, env=environment(**more), stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 4096):
            written += part
            if interrupt and interrupt.encode() in written:
                os.write(ours, b"\x03")
                interrupt = ""
    except OSError as error:  # how Linux says that nobody has the terminal open any more
        assert error.errno == errno.EIO  # noqa: PT017
    finally:
        os.close(ours)
        process.wait()
    return process.returncode, written.decode()


def lines_seen(written: str) -> list[str]:
    """Every state of every line, without colours."""
    plain = re.sub(r"\x1b\[\d*m", "", written)
    return [part.strip("\r") for part in re.split(r"\r?\n|\r\x1b\[K", plain)]


def test_a_run_in_a_narrow_terminal(small):
    code, written = in_a_terminal(small, columns=50)
    assert code == 0, written
    states = lines_seen(written)
    moving = [s for s in states if re.match(r"\d of 4 points \(\d+ %\)", s)]
    assert any("now torch_" in s for s in moving)
    assert any(" left | " in s for s in moving)
    assert max(map(len, moving)) < 50
    assert "4 points to measure, then 1 step to the report" in states
    assert [s for s in states if re.fullmatch(r"4 of 4 points in \d+ (s|min): 4 ok", s)]
    assert "sweep tiny on cpu: 4 points" in states
    for noise in ("Finished jobid", "Job stats", "Reason:", "Execute", "Select jobs"):
        assert noise not in written
    assert len((small / progress.LOG).read_text().splitlines()) == 7


@pytest.mark.slow
def test_ctrl_c_says_what_was_done_and_the_next_run_goes_on(small):
    stand_in = in_place_of_python(small, seconds=1)
    code, written = in_a_terminal(small, interrupt="1 of 4 points", **stand_in)
    assert code != 0
    assert re.search(r"stopped after [123] of 4 points in \d+ (s|min): [123] ok\r", written)
    code, written = in_a_terminal(small, **stand_in)
    assert code == 0, written
    assert re.search(r"[123] of 4 points to measure", written)


def piped(folder: Path, *options: str, **more: str) -> tuple[int, str]:
    done = subprocess.run(
        snakemake(*options), cwd=folder, env=environment(**more),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_jobs_that_fail_are_shown_with_their_logs(small):
    code, written = piped(small, **in_place_of_python(small, fails=True))
    assert code != 0
    assert written.count("Error in rule point") == 4
    assert written.count("the pipeline is at fault") == 4
    assert re.search(r"^0 of 4 points in \d+ (s|min): 4 failed$", written, re.M)
    assert "\x1b[K" not in written


@pytest.mark.slow
def test_nothing_is_shown_in_a_dry_run_nor_with_quiet(small):
    stand_in = in_place_of_python(small)
    code, written = piped(small, "-n")
    assert code == 0
    assert "Job stats" in written
    assert "points to measure" not in written
    assert not (small / progress.LOG).exists()
    code, written = piped(small, "--quiet", "all", **stand_in)
    assert code == 0
    assert "of 4 points" not in written
    assert "sweep tiny" not in written
    assert "Finished" not in written
    assert "4 of 4 points in" in (small / progress.LOG).read_text()


@pytest.mark.slow
def test_a_run_does_not_need_it(small):
    """As in another version of Snakemake, which has renamed what it uses."""
    file = small / "workflow/progress.py"
    file.write_text(f"from snakemake import no_such_name\n{file.read_text()}")
    code, written = piped(small, **in_place_of_python(small))
    assert code == 0, written
    assert "progress is not shown: " in written


@pytest.mark.slow
def test_every_word_of_snakemake_is_there_for_the_asking(small):
    code, written = piped(small, "--printshellcmds", **in_place_of_python(small))
    assert code == 0
    assert "Finished jobid" in written
    assert "python3 -m measure point" in written
    assert "4 of 4 points in" not in written
