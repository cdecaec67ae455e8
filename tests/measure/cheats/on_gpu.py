"""Kernels that cheat on a GPU: a test makes one function of this module the kernel."""

import torch
from cuda.bindings import driver

SIDE = torch.cuda.Stream()
GRAPHS, RECORDED = [], set()


def half_late(x, out=None):
    """Compute half of the rows on another stream, for which nobody waits, but not in graphs."""
    out = torch.empty_like(x) if out is None else out
    if torch.cuda.is_current_stream_capturing():
        return torch.softmax(x, dim=-1, out=out)
    half = len(x) // 2
    torch.softmax(x[:half], dim=-1, out=out[:half])
    SIDE.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(SIDE):
        torch.softmax(x[half:], dim=-1, out=out[half:])
    return out


def records_only_where_nan(x, out=None):
    """Record in graphs a kernel that writes only where a checker has put NaN."""
    if out is None or not torch.cuda.is_current_stream_capturing():
        return torch.softmax(x, dim=-1, out=out)
    return out.copy_(torch.where(out.isnan(), torch.softmax(x, dim=-1), out))


def sets_l2_aside(x, out=None):
    """Set as much of L2 aside for lines that persist as it may, and leave torch the rest."""
    limit = driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE
    largest = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE
    (error, largest) = driver.cuDeviceGetAttribute(largest, x.device.index)
    assert error == driver.CUresult.CUDA_SUCCESS
    (error,) = driver.cuCtxSetLimit(limit, largest)
    assert error == driver.CUresult.CUDA_SUCCESS
    return torch.softmax(x, dim=-1, out=out)


def skips_in_the_timed_graph(x, out=None):
    """Count the recordings; in the second record work once per pair of buffers.

    The first finds how many calls make a long replay, and the second is timed.
    """
    stream = torch.cuda.current_stream().cuda_stream
    if out is not None and torch.cuda.is_current_stream_capturing():
        graph = int(driver.cuStreamGetCaptureInfo(stream)[2])
        if graph not in GRAPHS:
            GRAPHS.append(graph)
        if GRAPHS.index(graph) == 1 and (graph, out.data_ptr()) in RECORDED:
            return out
        RECORDED.add((graph, out.data_ptr()))
    return torch.softmax(x, dim=-1, out=out)


def waits_for_nobody(x, out=None):
    """Work on another stream, which does not wait for the input."""
    out = torch.empty_like(x) if out is None else out
    with torch.cuda.stream(SIDE):
        y = torch.softmax(x, dim=-1, out=out)
    torch.cuda.current_stream().wait_stream(SIDE)
    return y
