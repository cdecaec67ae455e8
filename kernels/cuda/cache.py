"""Say where compiled CUDA C++ is kept from one process to the next."""

import os
from pathlib import Path

VARIABLE = "SOFTMAX_BENCH_CACHE"


def folder() -> Path:
    """Return the folder that VARIABLE names, or ``softmax_bench`` in the user's cache.

    The user's cache is XDG_CACHE_HOME, or else ~/.cache. The folder need not exist.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "softmax_bench")


def size() -> int:
    """Return the bytes of the files in the folder; 0 if there is none."""
    return sum(path.stat().st_size for path in folder().rglob("*") if path.is_file())
