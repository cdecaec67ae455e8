"""Reset the persisting lines of L2, which no other traffic evicts.

Loads and stores with the hint ``evict_last`` (Triton's ``eviction_policy``), as in kernels of
torch.compile, Helion and TileOPs, fill the part of L2 that is set aside for persisting lines: 11.8
of 63 MB on an H200. Only the driver's reset evicts these lines, so a series would find those of the
series before it. On an H200 they made a softmax of 1024x4096 in float32 2 % faster.
Source: CUDA Programming Guide, "L2 Cache Control".
"""

import torch
from cuda.bindings import driver

from kernels.cuda.driver import checked

# Errors of a GPU without persisting lines: compute capability below 8.0, or a MIG slice.
UNSUPPORTED = ("CUDA_ERROR_NOT_SUPPORTED", "CUDA_ERROR_UNSUPPORTED_LIMIT")


def reset_persisting_lines() -> None:
    """Wait for the current device, then turn all its persisting lines into ordinary ones.

    The reset takes some 5 µs. It needs an idle GPU: an H200 kept the lines as long as a stream had
    any work, even work that was only waiting for the host.
    """
    torch.cuda.synchronize()
    checked(driver.cuCtxResetPersistingL2Cache(), UNSUPPORTED)


def persisting_bytes() -> int | None:
    """Return how many bytes of L2 persisting lines may take; None if this GPU has no such lines."""
    limit = driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE
    return next(iter(checked(driver.cuCtxGetLimit(limit), UNSUPPORTED)), None)
