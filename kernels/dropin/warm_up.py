"""Compile the drop-in's kernels before they are needed: ``python -m softmax_bench warm-up``."""

import time
from collections.abc import Iterable

import torch

from .. import cache
from . import api, info

ROWS = 1, 16, 17  # Triton compiles for 1, for multiples of 16, and for other numbers


def run(dtypes: Iterable[str], lengths: Iterable[int]) -> str:
    """Call softmax and log_softmax, forward and backward, on contiguous rows. Return a summary.

    ``dtypes`` are names such as "float32"; ``lengths`` are columns. Raises RuntimeError where no
    GPU runs the kernels, and torch's error for rows that its memory cannot hold.
    """
    if why := info.why_none():
        raise RuntimeError(f"{why}; kernels are compiled where they run")
    begin = time.perf_counter()
    shapes = [(rows, cols) for cols in lengths for rows in ROWS]
    for name in dtypes:
        for shape in shapes:
            x = torch.zeros(shape, dtype=getattr(torch, name), device="cuda", requires_grad=True)
            for function in (api.softmax, api.log_softmax):
                y = function(x, -1)
                torch.autograd.grad(y, x, torch.ones_like(y))
    torch.cuda.synchronize()
    size = f"{cache.folder()} has {cache.size() / 1e6:.1f} MB"
    return f"compiled or found in {time.perf_counter() - begin:.1f} s; {size}"
