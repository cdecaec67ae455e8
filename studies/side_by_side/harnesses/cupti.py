"""CUPTI through ``torch.profiler``: how long the kernel itself ran. The arbiter of the others.

The GPU's own time stamps of the kernel's begin and end, so neither launches nor events are in
them. L2 is flushed before each call, by zeroing a buffer of three times its size.
"""

import functools
import time
from collections.abc import Callable, Iterable

from . import summary

CALLS = 50
WARM_UP_S = 0.1  # for the clocks; the first calls after a pause are slow
KERNEL = "softmax"  # in the name of torch's kernels and of triton_row's, and not in the flush's


def time_us(call, x, out) -> dict:
    import torch

    cache_bytes = torch.cuda.get_device_properties(x.device).L2_cache_size
    flush = torch.empty(3 * cache_bytes, dtype=torch.int8, device=x.device)

    def flushed_call() -> None:
        flush.zero_()
        call(x, out)

    _wake()
    end = time.perf_counter() + WARM_UP_S
    while time.perf_counter() < end:
        flushed_call()
        torch.cuda.synchronize()
    return summary(kernel_times_us(_trace(flushed_call, CALLS)))


def kernel_times_us(events: Iterable) -> list[float]:
    """µs of every kernel of a trace that is a softmax."""
    from torch.autograd import DeviceType

    kernels = [e for e in events if e.device_type == DeviceType.CUDA]
    found = [e.time_range.elapsed_us() for e in kernels if KERNEL in e.name.lower()]
    if not found:
        seen = ", ".join(sorted({e.name[:60] for e in kernels})) or "nothing"
        raise RuntimeError(f"CUPTI saw no kernel with {KERNEL!r} in its name, but {seen}")
    return found


def _trace(work: Callable[[], None], times: int) -> list:
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        for _ in range(times):
            work()
        torch.cuda.synchronize()
    return list(trace.events())


@functools.cache
def _wake() -> None:
    """Pay once for what a process's first trace sets up."""
    import torch

    _trace(torch.zeros(1, device="cuda").zero_, 1)
