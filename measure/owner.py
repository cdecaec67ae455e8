"""The process for which points are measured: with it ends all that it has begun, and only that."""

import os
from pathlib import Path


def started(pid: int) -> str | None:
    """When a process began, in the kernel's clock ticks: with its number, its identity.

    None where there is no such process, or where it has ended and nobody has waited for it.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # the name, in parentheses, may hold anything
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else fields[18]


def is_alive(pid: int, since: str) -> bool:
    """Whether the process that began then still runs."""
    return started(pid) == since


def watch(pid: int, since: str) -> int | None:
    """A pidfd of the process that began then, readable when it ends; None where it is gone."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    if is_alive(pid, since):  # asked after it is open: now it cannot become another's
        return pidfd
    os.close(pidfd)
    return None
