"""Keep compiled CUDA C++ from one process to the next, where the user has a folder for it.

The cache only saves time: whatever goes wrong with it, the kernel is compiled, once in a process.
"""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuda.core.utils import FileStreamProgramCache

VARIABLE = "SOFTMAX_BENCH_CACHE"
MAX_BYTES = 64 * 2**20  # a binary has some 20 KiB


def folder() -> Path | None:
    """Return the folder that VARIABLE names, or ``softmax_bench`` in the user's cache.

    The user's cache is XDG_CACHE_HOME if that is an absolute path, as its specification demands, or
    else ~/.cache. Returns None for a user without a home, such as a container's. The folder need
    not exist.
    """
    named = os.environ.get(VARIABLE)
    with contextlib.suppress(RuntimeError):  # "~" without a home
        if named:
            return Path(named).expanduser().absolute()
        xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (xdg if xdg.is_absolute() else Path.home() / ".cache") / "softmax_bench"
    return None


def size() -> int:
    """Return the bytes of the files in the folder; 0 if there is none."""
    root = folder()
    total = 0
    for parent, _, names in os.walk(root) if root else ():
        for name in names:
            with contextlib.suppress(OSError):  # another process may have removed it
                total += os.stat(os.path.join(parent, name)).st_size
    return total


def read(key: bytes) -> tuple[bytes, bytes] | None:
    """Return (symbol, binary) that ``write`` kept for a key; None if they are absent or damaged."""
    with contextlib.suppress(OSError), _opened() as store:
        checksum, _, content = (store.get(key) or b"").partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() == checksum:
            symbol, _, binary = content.partition(b"\n")
            return symbol, binary
    return None


def write(key: bytes, symbol: bytes, binary: bytes) -> None:
    """Keep the C name of a kernel and its binary, if there is a folder and it can be written."""
    content = symbol + b"\n" + binary
    with contextlib.suppress(OSError), _opened() as store:
        store[key] = hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def _opened() -> "FileStreamProgramCache":
    """Open the cache. Raises OSError if there is no folder, or it cannot be made."""
    from cuda.core.utils import FileStreamProgramCache  # `info` prints the folder without it

    if (root := folder()) is None:
        raise FileNotFoundError("no home for a cache")
    return FileStreamProgramCache(root / "nvrtc", max_size_bytes=MAX_BYTES)
