"""Lines of L2 that no other traffic evicts, and how they are let go.

Loads and stores with the hint ``evict_last`` (in Triton ``eviction_policy``; torch.compile and
Helion write kernels with it) fill the part of L2 that is set aside for persisting lines, on an H200
11.8 of 60 MB, and what came last stays there until the driver is asked to let go: any number of
calls without the hint does not push it out. So a series would find lines of some buffers in L2
because of what was timed before it; on an H200 a softmax of 1024x4096 in float32 was 2 % faster.
CUDA Programming Guide, "L2 Cache Control".
"""

import torch

# No such lines: compute capability below 8.0, or a part of a GPU (MIG).
UNSUPPORTED = ("CUDA_ERROR_NOT_SUPPORTED", "CUDA_ERROR_UNSUPPORTED_LIMIT")


def let_go() -> None:
    """Wait for the current device, then make all its persisting lines ordinary ones.

    The second takes some 5 µs. It takes an idle GPU: with work in a stream, even if that only
    waited for the host, an H200 kept the lines.
    """
    from cuda.bindings import driver  # not on a CPU, where it may be absent

    torch.cuda.synchronize()
    _done(driver.cuCtxResetPersistingL2Cache())


def set_aside() -> int | None:
    """Bytes of L2 that persisting lines may have; None where there are none."""
    from cuda.bindings import driver

    found = _done(driver.cuCtxGetLimit(driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE))
    return found[0] if found else None


def _done(answer: tuple) -> list:
    """What the driver answers; nothing where it has no such lines. Raises RuntimeError."""
    error, *found = answer
    if error.name in UNSUPPORTED:
        return []
    if error.name != "CUDA_SUCCESS":
        raise RuntimeError(f"the driver answered {error.name}")
    return found
