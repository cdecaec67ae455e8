"""The buffers that timed calls rotate over, so that each finds its inputs outside the cache."""

import torch

import kernels

from ..check import correctness
from ..device.device import Device
from ..inputs import draw_for
from ..point import Point
from ..status import Ended
from .base import CallBuffers

COLD = 3  # the buffers exceed this many caches …
MAX_ROTATION = 4096  # … unless it takes more calls than this: each is a node of every graph


def rotation_length(call_bytes: int, cache_bytes: int) -> int:
    """Return how many calls' buffers exceed three caches; at least 2, at most MAX_ROTATION."""
    return min(MAX_ROTATION, max(2, COLD * cache_bytes // call_bytes + 1))


def make(point: Point, device: Device, first: tuple[torch.Tensor, ...]) -> list[CallBuffers]:
    """Return a rotation: ``first``, the inputs of a call, and others with the seeds that follow."""
    count = rotation_length(point.call_bytes, device.cache_bytes)
    others = [draw(point, first[0], index) for index in range(1, count)]
    return [(*inputs, torch.empty_like(inputs[0])) for inputs in (first, *others)]


def draw(point: Point, like: torch.Tensor, index: int) -> tuple[torch.Tensor, ...]:
    """Return the inputs of this index: matrices (M, N) of the dtype of ``like``."""
    seed = point.seed + index
    return draw_for(point.op, point.distribution, like.dtype, point.M, point.N, seed, like.device)


def check_memory(rows: int, point: Point, device: Device) -> None:
    """Raise Ended if the device has less memory free than ``rows`` rows need.

    A host that is asked for too much kills a process at random: ask first.
    """
    matrix, itemsize = rows * point.N, kernels.DTYPES[point.dtype]
    count = 1 if point.interpreted else rotation_length(point.call_bytes, device.cache_bytes)
    needed = count * point.call_bytes // point.M * rows  # the rotation
    needed += 4 * matrix  # a float32 draw
    needed += point.reads * itemsize * matrix + matrix  # copies to compare, and a mask
    needed += itemsize * matrix  # what the graph audit expects
    if point.op == "softmax_backward":
        # On a GPU torch keeps g·y, once in each series that may be torch: variant, torch twice,
        # rival.
        needed += 4 * itemsize * matrix
    # ten arrays of float64, and as many again for a gradient
    needed += 80 * point.reads * min(matrix, correctness.ELEMENTS_CHECKED)
    free = device.free_bytes()
    if needed > free:
        raise Ended(
            "out_of_memory",
            f"inputs, outputs and the check need {needed / 2**30:.1f} GiB; "
            f"{free / 2**30:.1f} GiB are free",
        )
