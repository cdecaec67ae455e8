"""Measure one point, in a process that a kernel may kill.

The worker reads FOLDER/job.json, keeps FOLDER/progress.json up to date (the stage, and the row as
far as it is known) and ends with FOLDER/done.json. If a kernel kills it, progress.json remains.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path

from ..point import Point

PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Journal:
    """Write the worker's progress to files that are complete at any moment."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._begin = time.monotonic()
        self._worker = os.getpid()
        self.row: dict = {}

    def stage(self, name: str) -> None:
        """Record the stage that begins and the row so far; print the time into the log."""
        print(f"{time.monotonic() - self._begin:7.3f} s  {name}", file=sys.stderr, flush=True)
        self.write("progress", {"stage": name, "row": self.row})

    def write(self, stem: str, content: dict) -> None:
        """Write STEM.json."""
        if os.getpid() != self._worker:
            return  # a copy of the worker, forked by a kernel, must not write to the same file
        temporary = self._folder / f"{stem}.tmp"
        # default=float: numpy's numbers
        temporary.write_text(json.dumps(content, default=float))
        temporary.replace(self._folder / f"{stem}.json")


def main(folder: Path, parent: int) -> None:
    """Measure the point described in ``folder``, as long as the process ``parent`` lives."""
    # A kernel that never returns must not outlive its reaper.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the reaper ended before the line above
        os._exit(1)
    # When memory runs out, Linux must kill this process and what it starts, not the sweep.
    with contextlib.suppress(OSError):  # some containers forbid it
        Path("/proc/self/oom_score_adj").write_text("1000")
    job = json.loads((folder / "job.json").read_text())
    point = Point(**job["point"])
    journal = Journal(folder)
    journal.stage("importing torch")

    from .. import pipeline  # imports torch
    from ..device.device import WrongDevice

    try:
        samples = pipeline.measure(point, journal, job["first"])
    except WrongDevice as error:
        journal.write("refused", {"message": str(error)})
    else:
        journal.stage("done")
        journal.write("done", {"row": journal.row, "samples": samples})
