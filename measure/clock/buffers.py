"""The buffers that timed calls rotate over, so that each finds its data outside the cache."""

import torch

from .. import inputs
from ..device.device import Device
from ..point import Point
from .base import Pair

COLD = 3  # the buffers exceed this many caches …
MOST_PAIRS = 4096  # … unless it takes more pairs than this: each is a node of every graph


def pair_count(pair_bytes: int, cache_bytes: int) -> int:
    """Pairs that together exceed three caches; at least 2, at most MOST_PAIRS."""
    return min(MOST_PAIRS, max(2, COLD * cache_bytes // pair_bytes + 1))


def make(point: Point, device: Device, first: tuple[torch.Tensor, ...]) -> list[Pair]:
    """Pairs to rotate over: ``first``, what a call reads, and others with the seeds that follow."""
    count = pair_count(point.pair_bytes, device.cache_bytes)
    others = [draw(point, first[0], index) for index in range(1, count)]
    return [(*read, torch.empty_like(read[0])) for read in (first, *others)]


def draw(point: Point, like: torch.Tensor, index: int) -> tuple[torch.Tensor, ...]:
    """What the ``index``-th pair is given to read: matrices (M, N) of the dtype of ``like``."""
    seed = point.seed + index
    return inputs.draw_for(
        point.op, point.distribution, like.dtype, point.M, point.N, seed, like.device
    )
