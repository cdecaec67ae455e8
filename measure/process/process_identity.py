"""The process for which points are measured: with it ends all that it has begun, and only that."""

import contextlib
import ctypes
import errno
import os
import signal
import time
from pathlib import Path

PIDFD_OPEN = 434  # its number on every architecture: asm-generic/unistd.h
PR_SET_PDEATHSIG = 1  # linux/prctl.h
LOOK_S = 0.05


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


def end_with_parent() -> None:
    """Let this process be killed when the thread that started it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def watch(pid: int, since: str) -> int | None:
    """A descriptor of the process that began then, readable when it ends; None where it is gone."""
    try:
        pidfd = open_pidfd(pid)
    except ProcessLookupError:
        return None
    if is_alive(pid, since):  # asked after it is open: now it cannot become another's
        return pidfd
    os.close(pidfd)
    return None


def open_pidfd(pid: int) -> int:
    """A descriptor that becomes readable when a process ends. Raises ProcessLookupError.

    Before Linux 5.3, and where a sandbox forbids the call, a process of its own looks for the end.
    """
    try:
        return _pidfd(pid)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
    return _looked_after(pid)


def _pidfd(pid: int) -> int:
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    # a Python that was built where the call was not known yet, as conda's are
    pidfd = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_OPEN, pid, 0)
    if pidfd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return pidfd


def _looked_after(pid: int) -> int:
    """A pipe that is at its end when the process is. Whoever asks may have one thread only."""
    since = started(pid)
    if since is None:
        raise ProcessLookupError(pid)
    here, there = os.pipe()
    if os.fork() == 0:
        with contextlib.suppress(BaseException):
            end_with_parent()
            os.close(here)
            while is_alive(pid, since):
                time.sleep(LOOK_S)
        os._exit(0)
    os.close(there)
    return here
