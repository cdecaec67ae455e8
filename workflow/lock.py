"""One sweep at a time in a folder, by a lock that is free again however the sweep ends.

Snakemake's own lock is a file: after SIGKILL or a power loss it stays, and every call is refused
until somebody removes it by hand. ``nolock`` in profiles/default turns that one off.
"""

import errno
import fcntl
import os
import platform
import sys
from pathlib import Path

NAME = ".lock"
WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # some network file systems


def take(folder: Path) -> str | None:
    """Hold ``folder`` until this process ends. None, or one message: why not, and what to do."""
    path = Path(folder, NAME)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _hold(_open(path), path)  # never closed: that frees it
    except OSError as error:
        return (
            f"cannot write {path}: {error.strerror}. Nothing was measured; make room there, or "
            "make it writable, and call again: the sweep goes on where it stopped."
        )


def _open(path: Path) -> int:
    """The file; where another user has made it, to be read, which is enough for flock."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o664)
    except PermissionError:
        if not os.access(path.parent, os.W_OK):
            raise
        return os.open(path, os.O_RDONLY)


def _hold(descriptor: int, path: Path) -> str | None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
        os.close(descriptor)
        return (
            f"another sweep runs in {path.parent.resolve()}: {holder or 'it has just begun'}. "
            "Wait for its end, or end it, and call again; what it has measured is kept."
        )
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
        print(
            f"{path}: {error.strerror}; see to it yourself that no other sweep runs here",
            file=sys.stderr,
        )
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        return None  # another user's file: held all the same, though without a name
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode(), 0)
    return None
