"""When memory runs out, the kernel must end the worker, not the sweep, and the row must say so."""

import contextlib
from pathlib import Path

SCORE = Path("/proc/self/oom_score_adj")
COUNTERS = Path("/proc/vmstat")


def end_me_first() -> None:
    """Make this process, and what it starts, the first that the kernel ends for want of memory."""
    with contextlib.suppress(OSError):  # not every container lets it
        SCORE.write_text("1000")


def kills() -> int:
    """How many processes the kernel has ended for want of memory since it started."""
    with contextlib.suppress(OSError):
        for line in COUNTERS.read_text().splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return 0
