"""Allocate the global memory in which the blocks of a launch exchange softmax states.

A workspace starts as zeros. Launches that never overlap share a workspace: the launches of one
stream, or those that one CUDA graph captured from one stream. Two graphs may be replayed at once
and on any stream, so each graph keeps its workspace for good.

Launches that share a workspace must not overlap. They would overlap in two cases. A stream with
work is destroyed and its handle is used again; torch keeps its streams. Or one graph is two child
nodes of another.

The memory comes from the driver. What torch allocates during a capture belongs to the graph, and
its zeroing is replayed. What torch zeroes on one stream, another would have to wait for.
"""

import threading

import torch
from cuda.bindings import driver
from cuda.core import Device

from .driver import checked

MAX_STATES = 2048  # kMaxStates in kernels/cuda/include/grid_workspace.cuh
BYTES = 129 * 1024  # of `GridWorkspace` in kernels/cuda/include/grid_workspace.cuh
POOL = 16  # workspaces that one allocation holds

_addresses: dict[tuple[int, int, int], int] = {}  # by device, stream and capture (0: none)
_free: dict[int, list[int]] = {}  # by device
_lock = threading.Lock()


def address(device: int, stream: int) -> int:
    """Return the address of the workspace for a launch on this stream, torch's current one.

    ``device`` must be the current one. Raises RuntimeError with the driver's error name.
    """
    capture = _capture_id(stream) if torch.cuda.is_current_stream_capturing() else 0
    key = device, stream, capture
    with _lock:
        if key not in _addresses:
            free = _free.setdefault(device, [])
            if not free:
                first = _zeros(POOL * BYTES)
                free += [first + index * BYTES for index in range(POOL)]
            _addresses[key] = free.pop()
        return _addresses[key]


def _capture_id(stream: int) -> int:
    """Return the driver's id of the capture on a stream; no two captures share an id."""
    _, number, *_ = checked(driver.cuStreamGetCaptureInfo(stream))
    return int(number)


def _zeros(count: int) -> int:
    """Return the address of ``count`` zeroed bytes; works during a capture, too."""
    Device(torch.cuda.current_device()).set_current()  # a new thread has no context
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    (before,) = checked(driver.cuThreadExchangeStreamCaptureMode(relaxed))
    try:
        flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING  # waits for no other stream
        (stream,) = checked(driver.cuStreamCreate(flags))
        (memory,) = checked(driver.cuMemAlloc(count))
        checked(driver.cuMemsetD8Async(memory, 0, count, stream))
        checked(driver.cuStreamSynchronize(stream))
        checked(driver.cuStreamDestroy(stream))
    finally:
        checked(driver.cuThreadExchangeStreamCaptureMode(before))
    return int(memory)
