"""Compile the drop-in's own Triton kernels for a GPU that is not there; see ``offline``.

``python offline_dropin.py ARCH DTYPE`` launches, in vain, every form of each and prints one JSON
line per compiled kernel.
"""

import itertools
import json
import sys

import torch
from triton.runtime import driver

from kernels import _dropin_backward as backward
from kernels import _dropin_inner as inner
from tests.kernels.offline import AbsentGPU

COLUMNS = [781, 4096, 16384, 100_000]  # every number of warps; blocks and tiles
INNER = [(10, 3), (256, 32), (257, 32), (33_000, 1)]  # (n, inner): once, and in tiles


def compile_all(arch: int, dtype: torch.dtype) -> list[dict]:
    """What was compiled for compute capability ``arch`` and tensors of ``dtype``."""
    gpu = AbsentGPU(arch)
    driver.set_active(gpu)
    t = torch.empty(1, dtype=dtype)
    for cols, log in itertools.product(COLUMNS, (False, True)):
        backward.backward(t, t, t, 64, cols, cols, log)
    for (n, n_inner), log in itertools.product(INNER, (False, True)):
        inner.forward(t, t, 64, n, n_inner, log)
        inner.backward(t, t, t, 64, n, n_inner, log)
    return gpu.loaded


if __name__ == "__main__":
    for entry in compile_all(int(sys.argv[1]), getattr(torch, sys.argv[2])):
        print(json.dumps(entry))
