"""The first call of a variant on a GPU, and what it tells of the variant."""

import time

import torch

import kernels

from . import compiled_cuda


def look(name: str, call, read: tuple[torch.Tensor, ...]) -> dict:
    """compile_s, peak_memory_bytes and what the compiler made of the kernels.

    ``read``: what ``call`` reads, matrices (M, N).
    """
    from . import compiled_triton  # asks the driver

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
    if compiled_cuda.uses(name):
        return first | compiled_cuda.resources()
    return first | compiled_triton.resources(kernels.loaded_modules(name))
