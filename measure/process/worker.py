"""Measure one point, in a process that a kernel may kill.

The worker reads FOLDER/job.json, and keeps its ``Journal``, FOLDER/progress.json. This file remains
if a kernel kills the worker.
"""

import contextlib
import ctypes
import json
import os
import signal
from pathlib import Path

from ..errors import NoRow
from ..journal import Journal
from ..point import Point

PR_SET_PDEATHSIG = 1  # linux/prctl.h


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

    try:
        samples = pipeline.measure(point, journal, job["first"])
    except NoRow as error:
        journal.stage("refused", refused=str(error))
    else:
        journal.stage("done", samples=samples)
