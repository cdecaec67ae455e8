"""Allocate the global memory in which the blocks of a launch exchange softmax states.

A workspace starts as zeros. Launches that never overlap share a workspace: the launches of one
stream, or those that one CUDA graph captured from one stream. Two graphs may be replayed at once
and on any stream, so each graph keeps its workspace until the graph is gone.

Launches that share a workspace must not overlap, as they would if one graph were two child nodes of
another.

The memory comes from the driver. What torch allocates during a capture belongs to the graph, and
its zeroing is replayed. What torch zeroes on one stream, another would have to wait for.
"""

import ctypes
import threading

import torch
from cuda.bindings import driver
from cuda.core import Device

from .driver import checked, outside_a_capture

MAX_STATES = 2048  # kMaxStates in kernels/cuda/include/grid_workspace.cuh
MAX_MEETING_ROWS, MAX_ROW_STATES = 1024, 16384  # kMaxMeetingRows and kMaxRowStates there
BYTES = 389 * 1024  # size of `GridWorkspace` in kernels/cuda/include/grid_workspace.cuh
POOL = 5  # workspaces of one allocation: as many as 2 MiB hold, the driver's granularity

SEMAPHORE_BYTES = 64  # size of sem_t, at most; 32 on 64-bit Linux
_libc = ctypes.CDLL(None)
_libc.calloc.restype = ctypes.c_void_p
_libc.free.argtypes = [ctypes.c_void_p]

# Keys are the device, the stream's id and the capture (0: none).
_addresses: dict[tuple[int, int, int], int] = {}
_free: dict[int, list[int]] = {}  # Keys are devices.
_graphs: list[tuple["GraphEnd", tuple[int, int, int]]] = []  # graphs that keep a workspace
_lock = threading.Lock()


def address(device: int, stream: int) -> int:
    """Return the address of the workspace for a launch on this stream, torch's current one.

    ``device`` must be the current one. Raises RuntimeError with the driver's error name.
    """
    graph, capture = None, 0
    if torch.cuda.is_current_stream_capturing():  # the stream's id cannot be asked for then
        capture, graph = _capture(stream)
    elif stream:
        stream = _stream_id(stream)
    key = device, stream, capture
    with _lock:
        if key not in _addresses:
            _reclaim()
            free = _free.setdefault(device, [])
            if not free:
                first = _zeros(POOL * BYTES)
                free += [first + index * BYTES for index in range(POOL)]
            if graph is not None:
                _graphs.append((_end_of(graph), key))
            _addresses[key] = free.pop()
        return _addresses[key]


def _reclaim() -> None:
    """Take back the workspaces of graphs that are gone.

    The next graph continues the count of epochs in them, as the next launch of a stream would.
    """
    for entry in [entry for entry in _graphs if entry[0].has_ended()]:
        _graphs.remove(entry)
        key = entry[1]
        _free[key[0]].append(_addresses.pop(key))


class GraphEnd:
    """Know when a graph is gone: CUDA then calls the C library's sem_post on a semaphore.

    CUDA calls it in one of its threads. A Python function there would wait for Python's lock,
    while the thread that holds the lock may wait for CUDA.
    """

    def __init__(self) -> None:
        # Memory of the C library: a graph may outlive Python's objects when the process ends.
        self.semaphore = ctypes.c_void_p(_libc.calloc(1, SEMAPHORE_BYTES))
        _libc.sem_init(self.semaphore, 0, 0)

    def has_ended(self) -> bool:
        """Return whether the graph is gone; True once only."""
        if _libc.sem_trywait(self.semaphore):
            return False
        _libc.free(self.semaphore)
        return True


def _end_of(graph: driver.CUgraph) -> GraphEnd:
    """Return the end of a graph that is being captured, and of all that is made from it."""
    end = GraphEnd()
    sync = driver.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC  # the only mode there is
    move = driver.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE  # the graph alone holds it
    sem_post = driver.CUhostFn(ctypes.cast(_libc.sem_post, ctypes.c_void_p).value)
    created = driver.cuUserObjectCreate(end.semaphore.value, sem_post, 1, sync)
    (user_object,) = checked(created)
    checked(driver.cuGraphRetainUserObject(graph, user_object, 1, move))
    return end


def _stream_id(stream: int) -> int:
    """Return the driver's id of a stream; no two streams share an id, while they share handles.

    The handle of the per-thread default stream is the same in each thread, and that of a stream
    that was destroyed with work on it may be used again.
    """
    (number,) = checked(driver.cuStreamGetId(stream))
    return int(number)


def _capture(stream: int) -> tuple[int, driver.CUgraph]:
    """Return the driver's id of the capture on a stream, which no two share, and its graph."""
    _, number, graph, *_ = checked(driver.cuStreamGetCaptureInfo(stream))
    return int(number), graph


def _zeros(count: int) -> int:
    """Return the address of ``count`` zeroed bytes; works during a capture, too."""
    Device(torch.cuda.current_device()).set_current()  # a new thread has no context
    with outside_a_capture():
        flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING  # waits for no other stream
        (stream,) = checked(driver.cuStreamCreate(flags))
        try:
            (memory,) = checked(driver.cuMemAlloc(count))
            checked(driver.cuMemsetD8Async(memory, 0, count, stream))
            checked(driver.cuStreamSynchronize(stream))
        finally:
            checked(driver.cuStreamDestroy(stream))
    return int(memory)
