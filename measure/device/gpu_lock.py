"""One timing per GPU at a time, whoever asks on this machine.

A GPU is held by an exclusive ``flock`` on a file named by its UUID, for as long as a process of the
point lives that has inherited the file: the kernel frees it, also after SIGKILL. Locks hold within
one machine and one /tmp: containers that share a GPU but not /tmp do not see each other.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from . import gpus

FOLDER = Path("/tmp")  # not $TMPDIR: all users must mean the same place
POLL_S = 0.01
SILENT_S = 1.0  # the worker of the point before may be about to end
# no link, which would be somebody's trick, and no waiting for whoever writes into a pipe
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class NoSlot(RuntimeError):
    """A lock file cannot be used: says which, and what to do."""


class Slot(NamedTuple):
    """A GPU, held while ``fd`` is open here or in a process that inherited it."""

    gpu: gpus.Found
    fd: int

    def release(self) -> None:
        os.close(self.fd)


def acquire(wanted: Sequence[gpus.Found], say: Callable[[str], object] = print) -> Slot:
    """The first of the wanted GPUs that is free; waits while all are in use.

    Raises NoSlot where a lock file cannot be opened.
    """
    end, said = time.monotonic() + SILENT_S, False
    while True:
        for gpu in wanted:
            fd = _try(FOLDER / f"softmax-bench-{gpu.uuid}.lock")
            if fd is not None:
                return Slot(gpu, fd)
        if not said and time.monotonic() > end:
            names = ", ".join(gpu.uuid for gpu in wanted)
            say(f"waiting: every GPU of this kind is being timed by another point ({names})")
            said = True
        time.sleep(POLL_S)


def _try(path: Path) -> int | None:
    """A descriptor that holds the lock, or None where somebody else does."""
    fd = _open(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Somebody may have cleaned up /tmp: a lock on a file without a name keeps nobody out.
        if os.fstat(fd).st_ino == os.stat(path).st_ino:
            with contextlib.suppress(PermissionError):  # another user's
                os.utime(fd)  # what is old is cleaned away from /tmp
            return fd
    except BlockingIOError:
        pass
    except FileNotFoundError:
        pass
    os.close(fd)
    return None


def _open(path: Path) -> int:
    try:
        # Without O_CREAT first: Linux forbids it for another user's file in /tmp
        # (fs.protected_regular). Reading is enough for flock.
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, READ)
        with contextlib.suppress(FileExistsError):  # another point was faster
            # whatever the umask, other users must be able to read it, and from its first moment
            before = os.umask(0o022)
            try:
                return os.open(path, READ | os.O_CREAT | os.O_EXCL, 0o644)
            finally:
                os.umask(before)
        return os.open(path, READ)
    except OSError as error:
        raise NoSlot(
            f"{path}: cannot be opened to lock its GPU ({error.strerror}); remove the file when no "
            "measurement is running"
        ) from error
