"""Keep compiled CUDA C++ on disk from one process to the next, if the user has a folder for it.

The cache only saves time. Whatever goes wrong with it, the process compiles the kernel itself.
"""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuda.core.utils import FileStreamProgramCache

VARIABLE = "SOFTMAX_BENCH_CACHE"
MAX_BYTES = 64 * 2**20  # bytes on disk, at most; a binary takes some 20 KiB


def folder() -> Path | None:
    """Return the cache folder, which need not exist; None for a user without a home directory.

    It is what the environment variable VARIABLE names, or else ``softmax_bench`` in XDG_CACHE_HOME,
    which must be an absolute path by its specification, or in ~/.cache.
    """
    named = os.environ.get(VARIABLE)
    with contextlib.suppress(RuntimeError):  # "~" cannot be expanded without a home directory
        if named:
            return Path(named).expanduser().absolute()
        xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (xdg if xdg.is_absolute() else Path.home() / ".cache") / "softmax_bench"
    return None


def size() -> int:
    """Return the size in bytes of all files in the cache folder; 0 if there is no folder."""
    root = folder()
    total = 0
    for parent, _, names in os.walk(root) if root else ():
        for name in names:
            with contextlib.suppress(OSError):  # another process may have removed it
                total += os.stat(os.path.join(parent, name)).st_size
    return total


def read(key: bytes) -> tuple[bytes, bytes] | None:
    """Return the (symbol, binary) that ``write`` kept under a key; None if absent or damaged."""
    with contextlib.suppress(OSError), _opened() as store:
        checksum, _, content = (store.get(key) or b"").partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() == checksum:
            symbol, _, binary = content.partition(b"\n")
            return symbol, binary
    return None


def write(key: bytes, symbol: bytes, binary: bytes) -> None:
    """Keep a kernel's mangled name and its binary, unless the folder is missing or read-only."""
    content = symbol + b"\n" + binary
    with contextlib.suppress(OSError), _opened() as store:
        store[key] = hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def _opened() -> "FileStreamProgramCache":
    """Open the cache. Raises OSError if there is no folder and none can be made."""
    from cuda.core.utils import FileStreamProgramCache  # `info` prints the folder without it

    if (root := folder()) is None:
        raise FileNotFoundError("no home for a cache")
    return FileStreamProgramCache(root / "nvrtc", max_size_bytes=MAX_BYTES)
