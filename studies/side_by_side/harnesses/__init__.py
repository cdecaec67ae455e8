"""One file per tool: a point timed as the tool's documentation tells its users to.

Each defines ``time_us(call, x, out) -> dict``, x and out of shape (M, N), for a call that has run
once already; or, where the tool wants to own the loop over points, ``time_all`` (see cuda_bench).
"""

import importlib
from collections.abc import Sequence
from types import ModuleType

import numpy as np

# In the order in which they take turns.
NAMES = ("do_bench", "do_bench_cudagraph", "blocked_autorange", "cuda_bench", "cupti")
FEWEST = 5  # samples, for their quantiles to say anything


def load(name: str) -> ModuleType:
    """The module of a tool; it imports the tool itself when it times something."""
    return importlib.import_module(f"{__name__}.{name}")


def summary(times_us: Sequence[float]) -> dict:
    """Median, 0.2 and 0.8 quantile of samples in µs, and how many there are."""
    found = {"time_us": float(np.median(times_us)), "n_samples": len(times_us)}
    if len(times_us) >= FEWEST:
        found["low"], found["high"] = np.quantile(times_us, (0.2, 0.8)).tolist()
    return found
