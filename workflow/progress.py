"""How far a run is, on the screen and in results/logs/progress.log.

Snakemake logs an event when a job starts and when it ends; a ``Display`` listens to them. In a
terminal it keeps one line up to date, elsewhere it writes a line now and then, and both without
what Snakemake has to say of every single job, which stays in .snakemake/log. Errors, the logs of
failed jobs and everything else are shown as ever.
"""

import contextlib
import csv
import logging
import os
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TextIO

from snakemake.logging import logger
from snakemake.settings.enums import Quietness

from . import sweep
from .tally import Tally, counted

LOG = Path("results/logs/progress.log")
RULE = "point"  # the jobs that are points; all others are steps to the report
TICK_S = 0.5  # the line of a terminal is drawn again this often …
EVERY_S = 30  # … and where there is none, a line is written this often
# events that tell of every job, or of Snakemake itself
LEFT_OUT = {
    *("workflow_started", "resources_info", "run_info", "progress"),
    *("job_info", "job_started", "job_finished", "group_info", "shellcmd"),
}
# … and what has no event; the last is what the Slurm executor says of every job
LEFT_OUT_TEXT = re.compile(
    "Select jobs to execute|Using shell: |Conda environments: ignored|Group jobs: inactive"
    r"|Job \d+ has been submitted"
)
INTERRUPTED = "Terminating processes on user request"  # what Snakemake says after Ctrl-C


def show(workflow, points: int) -> None:
    """Show how far the run of a Snakemake ``workflow`` is; its sweep has so many ``points``.

    Nothing in a dry run, with ``--touch``, in a process that runs a job for another Snakemake, and
    with ``--quiet progress``, which keeps Snakemake from telling. Only LOG is written, and the
    screen is as Snakemake makes it, with ``--quiet all``, with ``--verbose``,
    ``--printshellcmds`` or ``--debug-dag``, and where a logger plugin has the screen.
    """
    given = workflow.output_settings
    quiet = set(given.quiet or ())
    if given.dryrun or not workflow.is_main_process or Quietness.PROGRESS in quiet:
        return
    wordy = given.verbose or given.printshellcmds or given.debug_dag
    screens = [h for h in logger.handlers if h.get_name() == "DefaultStreamHandler"]
    behind = screens[0] if screens and not (Quietness.ALL in quiet or wordy) else None
    if behind:
        logger.removeHandler(behind)
    remote, off = lambda: not workflow.local_exec, lambda: workflow.touch
    logger.addHandler(Display(points, LOG, behind, remote, off))


def is_silent(workflow) -> bool:
    """Whether ``--quiet all`` was given."""
    return Quietness.ALL in set(workflow.output_settings.quiet or ())


class Display(logging.Handler):
    """Listens to a run.

    ``points``: of the whole sweep. ``log``: the file that gets a line for every point. ``behind``:
    the handler that writes to the screen, None to leave the screen alone. ``remote``: whether jobs
    run elsewhere; Snakemake then knows only when a whole group of them has ended, so that their
    rows are looked for. ``off``: whether the screen is to be Snakemake's once the run is planned.
    """

    def __init__(
        self,
        points: int,
        log: Path,
        behind: logging.StreamHandler | None,
        remote: Callable[[], bool] = lambda: False,
        off: Callable[[], bool] = lambda: False,
    ):
        super().__init__()
        self._points, self._path, self._behind = points, log, behind
        self._remote, self._off = remote, off
        self._live = behind is not None and is_terminal(behind.stream)
        self._log: TextIO | None = None
        self._planned: dict[str, int] = {}  # rule to number of jobs, and their total
        self._tally: Tally | None = None  # from the first job on
        self._running: dict[int, str] = {}  # job to what it says of itself, oldest first
        self._rows: dict[int, Path] = {}  # job of a point that is not counted yet, to its row
        self._told = False  # what came of the points
        self._interrupted = False  # jobs end now because they were told to
        self._drawn = False  # a line that is to be erased before anything else is written
        self._due = 0.0  # when a line is due where there is no terminal
        self._ended = threading.Event()  # from then on the screen is Snakemake's

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of what a record tells, and hand it on to the screen, if it belongs there."""
        follow = getattr(self, f"_on_{getattr(record, 'event', None)}", None)
        if follow and not self._ended.is_set():
            try:
                follow(record)
            except Exception as error:  # another version of Snakemake, a full disk
                self._give_up(error)
        if str(record.msg).startswith(INTERRUPTED):
            self._interrupted = True
        if self._behind and (self._ended.is_set() or not left_out(record)):
            self._erase()
            self._behind.handle(record)

    def close(self) -> None:
        """Say what came of a run that was cut short."""
        with self.lock:
            if self._tally and not (self._told or self._ended.is_set()):
                self._tell("stopped after ")
            self._ended.set()
            self._erase()
            if self._log:
                self._log.close()
            if self._behind:
                self._behind.close()
        super().close()

    def _on_run_info(self, record) -> None:
        self._planned = record.stats
        if self._off():
            self._ended.set()

    def _on_job_info(self, record) -> None:
        if not self._tally:
            self._begin()
        self._running[record.jobid] = record.rule_msg or record.rule_name
        if record.rule_name == RULE:
            self._rows[record.jobid] = Path(sweep.ROW.format(**record.wildcards))

    def _on_job_finished(self, record) -> None:
        if record.job_id in self._rows:
            self._count(record.job_id)
        elif words := self._running.pop(record.job_id, None):
            self._tally.steps_done += 1
            self._note(f"{self._tally.steps_done} of {self._tally.steps} steps: {words}")

    def _count(self, job: int) -> None:
        tally, status = self._tally, status_of(self._rows.pop(job))
        tally.finish(status, time.monotonic())
        self._note(f"{tally.done} of {tally.points} points: {status}, {self._running.pop(job)}")
        self._tell_at_the_end()

    def _on_job_error(self, record) -> None:
        words = self._running.pop(record.jobid, "")
        # told twice, of a group and of its job: counts once
        if self._rows.pop(record.jobid, None) and not self._interrupted:
            self._tally.failed += 1
            self._note(f"failed: {words}")
            self._tell_at_the_end()

    def _begin(self) -> None:
        points = self._planned.get(RULE, 0)
        steps = self._planned.get("total", points) - points
        self._tally = Tally(points, steps, time.monotonic())
        self._told = points == 0
        of = f" of {self._points}" if points < self._points else ""
        then = f", then {counted(steps, 'step')} to the report" * (steps > 0)
        self._say(f"{points}{of} points to measure{then}")
        self._due = time.monotonic() + EVERY_S
        if self._behind or self._remote():
            threading.Thread(target=self._tick, daemon=True).start()

    def _tell_at_the_end(self) -> None:
        if self._tally.remaining == 0 and not self._told:
            self._tell("")

    def _tell(self, before: str) -> None:
        self._told = True
        self._say(before + self._tally.result(time.monotonic()))

    def _tick(self) -> None:
        while not self._ended.wait(TICK_S):
            with self.lock:
                try:
                    if not self._ended.is_set():
                        self._refresh(time.monotonic())
                except Exception as error:
                    self._give_up(error)

    def _refresh(self, now: float) -> None:
        due = now >= self._due
        if due:
            self._due = now + EVERY_S
            for job in [j for j, row in self._rows.items() if self._remote() and row.exists()]:
                self._count(job)
        if not self._behind or not (self._live or due):
            return
        # elsewhere, a job that was submitted may still wait for its turn
        text = self._tally.line(now, [] if self._remote() else list(self._running.values()))
        if self._live:
            self._erase()
            self._write(shortened(text, _width(self._behind.stream)))
            self._drawn = True
        else:
            self._write(f"{text}\n")

    def _say(self, text: str) -> None:
        """A line that stays, on the screen and in the log."""
        self._note(text)
        if self._behind:
            self._erase()
            self._write(f"{text}\n")

    def _note(self, text: str) -> None:
        if self._log is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._log = self._path.open("a", encoding="utf-8", buffering=1)
        self._log.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {text}\n")

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = False
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self._behind.stream.write(text)
        self._behind.stream.flush()

    def _give_up(self, error: Exception) -> None:
        """Show what Snakemake shows: a run never ends because of how it is told."""
        self._ended.set()
        with contextlib.suppress(OSError):
            self._erase()
            logger.warning(f"progress is not shown any more: {type(error).__name__}: {error}")


def left_out(record: logging.LogRecord) -> bool:
    """Whether a record is what Snakemake says of every job, or of itself."""
    if record.levelno >= logging.WARNING:
        return False
    event = getattr(record, "event", None)
    return event in LEFT_OUT if event else bool(LEFT_OUT_TEXT.match(str(record.msg)))


def status_of(row: Path) -> str:
    """The status in the file of a row; ``unreadable`` where there is none."""
    try:
        with row.open(newline="", encoding="utf-8") as file:
            return next(csv.DictReader(file))["status"]
    except (OSError, StopIteration, KeyError, ValueError, csv.Error):
        return "unreadable"


def is_terminal(stream: TextIO) -> bool:
    """Whether a line written to ``stream`` can be written over."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def shortened(text: str, width: int) -> str:
    """``text`` in fewer than ``width`` columns: a line that wraps cannot be written over."""
    return text if len(text) < width else f"{text[: max(0, width - 4)]}..."[: max(0, width - 1)]


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
