"""Allow only one timing per GPU at a time, and choose one GPU for all points of a matrix.

The lock is an exclusive ``flock`` on a file named after the GPU's UUID. It lasts until all
processes that inherited the file have ended, even by SIGKILL. The file is in /tmp, so containers
that share a GPU must share /tmp.
"""

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import NoRowError
from ..point import Point
from ..row import MATRIX
from . import gpus

LOCK_FOLDER = Path("/tmp")  # not $TMPDIR, because all users must use the same folder
POLL_S = 0.01
SILENT_S = 1.0  # shorter waits are not reported: the previous point may be about to end
# Do not follow a link of another user, and do not wait for the writer of a pipe.
OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class GpuLock(NamedTuple):
    """Hold a GPU locked while ``fd`` is open here or in a process that inherited it."""

    gpu: gpus.VisibleGpu
    fd: int


def assigned_gpu(point: Point, visible: Sequence[gpus.VisibleGpu]) -> gpus.VisibleGpu | None:
    """Return the GPU of this machine on which all points of a matrix are measured, if any.

    Boards of the same model differ by some percent, so variants are only compared on one board. A
    hash of the matrix chooses it, so the processes of the points need not communicate.
    """
    candidates = sorted(gpu for gpu in visible if gpu.slug == point.gpu)
    matrix = " ".join(str(getattr(point, name)) for name in MATRIX)
    number = int.from_bytes(hashlib.sha256(matrix.encode()).digest()[:8], "big")
    return candidates[number % len(candidates)] if candidates else None


@contextlib.contextmanager
def acquire(gpu: gpus.VisibleGpu, say: Callable[[str], object] = print) -> Iterator[GpuLock]:
    """Lock a GPU; wait if it is in use. Raises NoRowError if its file cannot be locked."""
    end, silent = time.monotonic() + SILENT_S, True
    while (fd := _try(LOCK_FOLDER / f"softmax-bench-{gpu.uuid}.lock")) is None:
        if silent and time.monotonic() > end:
            say(f"waiting: another point is being timed on {gpu.uuid}")
            silent = False
        time.sleep(POLL_S)
    try:
        yield GpuLock(gpu, fd)
    finally:
        os.close(fd)


def _try(path: Path) -> int | None:
    """Return a descriptor that holds the lock, or None if another process holds it.

    Raises NoRowError.
    """
    try:
        with contextlib.ExitStack() as stack:
            fd = _open(path)
            stack.callback(os.close, fd)
            # FileNotFoundError: another process has removed the file meanwhile
            with contextlib.suppress(BlockingIOError, FileNotFoundError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # If the file has been removed, another process would lock a new one of this name.
                if os.fstat(fd).st_ino == os.stat(path).st_ino:
                    with contextlib.suppress(PermissionError):  # a file of another user
                        os.utime(fd)  # or a clean-up of /tmp may remove the file as too old
                    stack.pop_all()
                    return fd
            return None
    except OSError as error:
        raise NoRowError(
            f"{path}: cannot be locked for its GPU ({error.strerror}); remove the file when no "
            "measurement is running"
        ) from error


def _open(path: Path) -> int:
    # First without O_CREAT, which Linux forbids for another user's file in /tmp
    # (fs.protected_regular). Read permission is enough to lock a file.
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, OPEN_FLAGS)
    with contextlib.suppress(FileExistsError):  # another point has created the file
        # Whatever the umask, other users must be able to read the file from the start.
        before = os.umask(0o022)
        try:
            return os.open(path, OPEN_FLAGS | os.O_CREAT | os.O_EXCL, 0o644)
        finally:
            os.umask(before)
    return os.open(path, OPEN_FLAGS)
