"""Allocate the global memory through which the blocks of a launch exchange softmax states.

A workspace is zeroed once. Launches share one only if they cannot overlap: those of one stream, or
those that one CUDA graph has captured from one stream. Two graphs may be replayed concurrently, on
any streams, so each graph keeps its own workspace until it is destroyed. (A graph that is used
as two child nodes of another graph would overlap itself; that is not supported.)

The memory comes from the driver and not from torch: what torch allocates during a capture belongs
to the graph, which would zero it at every replay; and what torch zeroes on one stream, launches on
another stream would have to wait for.
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
POOL = 5  # workspaces per allocation: as many as fit in 2 MiB, the driver's granularity

SEMAPHORE_BYTES = 64  # an upper bound for the size of sem_t, which is 32 on 64-bit Linux
_libc = ctypes.CDLL(None)
_libc.calloc.restype = ctypes.c_void_p
_libc.free.argtypes = [ctypes.c_void_p]

# Addresses of workspaces in use, by (device, id of the stream, id of the capture or 0).
_addresses: dict[tuple[int, int, int], int] = {}
_free: dict[int, list[int]] = {}  # unused workspaces, by device
_graphs: list[tuple["GraphEnd", tuple[int, int, int]]] = []  # graphs that keep a workspace
_lock = threading.Lock()


def address(device: int, stream: int) -> int:
    """Return the address of the workspace for a launch on ``stream``, a handle of the driver.

    It must be torch's current stream, and ``device`` the current device. Raises RuntimeError with
    the driver's error name.
    """
    graph, capture = None, 0
    if torch.cuda.is_current_stream_capturing():  # during which the stream has no id to query
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
    """Take back the workspaces of destroyed graphs.

    The next owner continues the count of epochs in them, as the next launch of a stream would.
    """
    for entry in [entry for entry in _graphs if entry[0].has_ended()]:
        _graphs.remove(entry)
        key = entry[1]
        _free[key[0]].append(_addresses.pop(key))


class GraphEnd:
    """Tell when a graph has been destroyed: CUDA then calls sem_post on a semaphore.

    The callback must be a C function. CUDA runs it in its own thread, where a Python function
    would wait for the GIL, while the thread that holds the GIL may be waiting for CUDA.
    """

    def __init__(self) -> None:
        # allocated in C, because a graph may outlive Python's objects when the process ends
        self.semaphore = ctypes.c_void_p(_libc.calloc(1, SEMAPHORE_BYTES))
        _libc.sem_init(self.semaphore, 0, 0)

    def has_ended(self) -> bool:
        """Return whether the graph has been destroyed; returns True only once."""
        if _libc.sem_trywait(self.semaphore):
            return False
        _libc.free(self.semaphore)
        return True


def _end_of(graph: driver.CUgraph) -> GraphEnd:
    """Return the GraphEnd of a graph under capture, and of everything that is made from it."""
    end = GraphEnd()
    sync = driver.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC  # the only mode there is
    move = driver.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE  # the graph alone holds it
    sem_post = driver.CUhostFn(ctypes.cast(_libc.sem_post, ctypes.c_void_p).value)
    created = driver.cuUserObjectCreate(end.semaphore.value, sem_post, 1, sync)
    (user_object,) = checked(created)
    checked(driver.cuGraphRetainUserObject(graph, user_object, 1, move))
    return end


def _stream_id(stream: int) -> int:
    """Return the driver's id of a stream, which is unique, unlike its handle.

    The per-thread default streams of all threads have the same handle, and the handle of a stream
    that was destroyed with work pending may be reused.
    """
    (number,) = checked(driver.cuStreamGetId(stream))
    return int(number)


def _capture(stream: int) -> tuple[int, driver.CUgraph]:
    """Return the unique id of the capture under way on a stream, and the captured graph."""
    _, number, graph, *_ = checked(driver.cuStreamGetCaptureInfo(stream))
    return int(number), graph


def _zeros(count: int) -> int:
    """Return the address of ``count`` zeroed bytes; works during a capture, too."""
    Device(torch.cuda.current_device()).set_current()  # a new thread has no CUDA context yet
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
