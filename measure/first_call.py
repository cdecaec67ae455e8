"""The first call of a variant on a GPU, and what it tells of the variant."""

import time

import torch

import kernels

from . import cuda_kernels


def look(name: str, call, read: tuple[torch.Tensor, ...]) -> dict:
    """compile_s, peak_memory_bytes and what the compiler made of the kernels.

    ``read``: what ``call`` reads, matrices (M, N).
    """
    from . import triton_kernels  # asks the driver

    out = torch.empty_like(read[0])
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    call(*read, out)
    torch.cuda.synchronize()
    first = {
        "compile_s": time.perf_counter() - begin,
        "peak_memory_bytes": torch.cuda.max_memory_allocated(),
    }
    if cuda_kernels.uses(name):
        return first | cuda_kernels.resources()
    return first | triton_kernels.resources(kernels.loaded(name))
