"""Memory in which the blocks of a launch meet: zero before it, and zero again after it.

Launches that may run at the same time must not share it. Those of one stream follow one another and
share theirs. What is recorded in a CUDA graph may be replayed on any stream, so each such launch
gets some of its own, for good.
"""

import torch

BYTES = 24 * 1024  # of `Meeting` in kernels/cuda/frontier_grid.cu
POOL = 64  # meetings that are allocated together

_of_stream: dict[tuple[int, int], int] = {}
_free: dict[int, list[int]] = {}
_kept: list[torch.Tensor] = []  # never freed: a graph may hold on to an address


def address(device: int, stream: int) -> int:
    """Where the blocks of a launch on this stream meet."""
    if torch.cuda.is_current_stream_capturing():
        return _take(device)
    found = _of_stream.get((device, stream))
    if found is None:
        found = _of_stream[device, stream] = _take(device)
    return found


def _take(device: int) -> int:
    free = _free.setdefault(device, [])
    if not free:
        # while a graph is recorded, the zeroing is recorded, too, and done at each replay
        pool = torch.zeros(POOL * BYTES, dtype=torch.uint8, device=torch.device("cuda", device))
        _kept.append(pool)
        free += [pool.data_ptr() + index * BYTES for index in range(POOL)]
    return free.pop()
