"""Where the blocks of a launch meet: parts in global memory, and the number of turns so far.

Zero at first; launches that never overlap may share one: those of a stream, those that one CUDA
graph has recorded from a stream. A graph may be replayed on any stream,
and two graphs at once, so each has meetings of its own, for good.

The memory is the driver's, not torch's: what torch allocates while a graph is recorded belongs to
the graph, zeroing included, and what it zeroes on one stream another would have to wait for.
"""

import threading

import torch
from cuda.bindings import driver

MAX_STATES = 2048  # kMaxStates in kernels/cuda/include/grid_workspace.cuh
BYTES = 129 * 1024  # of `GridWorkspace` in kernels/cuda/include/grid_workspace.cuh
POOL = 16  # meetings that are allocated together

_of: dict[tuple[int, int, int], int] = {}  # by device, stream, and recording (0: none)
_free: dict[int, list[int]] = {}  # by device
_taking = threading.Lock()


def address(device: int, stream: int) -> int:
    """Where the blocks of a launch on this stream, torch's current one, meet.

    ``device`` must be the current one. Raises RuntimeError with the driver's words.
    """
    recording = _recording(stream) if torch.cuda.is_current_stream_capturing() else 0
    key = device, stream, recording
    found = _of.get(key)
    return _take(key) if found is None else found


def _take(key: tuple[int, int, int]) -> int:
    with _taking:
        if key not in _of:
            free = _free.setdefault(key[0], [])
            if not free:
                first = _zeros(POOL * BYTES)
                free += [first + index * BYTES for index in range(POOL)]
            _of[key] = free.pop()
        return _of[key]


def _recording(stream: int) -> int:
    """A number for the graph that is being recorded on a stream, never given twice."""
    _, number, *_ = _checked(driver.cuStreamGetCaptureInfo(stream))
    return int(number)


def _zeros(count: int) -> int:
    """Address of so many bytes that are zero by now; also while a graph is recorded."""
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    (before,) = _checked(driver.cuThreadExchangeStreamCaptureMode(relaxed))
    try:
        apart = driver.CUstream_flags.CU_STREAM_NON_BLOCKING  # waits for no other stream
        (stream,) = _checked(driver.cuStreamCreate(apart))
        (found,) = _checked(driver.cuMemAlloc(count))
        _checked(driver.cuMemsetD8Async(found, 0, count, stream))
        _checked(driver.cuStreamSynchronize(stream))
        _checked(driver.cuStreamDestroy(stream))
    finally:
        _checked(driver.cuThreadExchangeStreamCaptureMode(before))
    return int(found)


def _checked(answer: tuple) -> tuple:
    """What the driver has answered, after its error code."""
    error, *rest = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"no memory for the frontier's blocks to meet in: {error.name}")
    return tuple(rest)
