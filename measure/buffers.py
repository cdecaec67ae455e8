"""The buffers that timed calls rotate over, so that each finds its data outside the cache."""

import torch

from . import inputs
from .clock import Pair
from .device import Device
from .point import Point

COLD = 3  # the buffers exceed this many caches …
MOST_PAIRS = 4096  # … unless it takes more pairs than this: each is a node of every graph


def pair_count(pair_bytes: int, cache_bytes: int) -> int:
    """Input/output pairs that together exceed three caches; at least 2, at most MOST_PAIRS."""
    return min(MOST_PAIRS, max(2, COLD * cache_bytes // pair_bytes + 1))


def make(point: Point, device: Device, first: torch.Tensor) -> list[Pair]:
    """Pairs (x, out) to rotate over: ``first`` and others drawn with the seeds that follow."""
    count = pair_count(point.pair_bytes, device.cache_bytes)
    others = [draw(point, first, index) for index in range(1, count)]
    return [(x, torch.empty_like(x)) for x in (first, *others)]


def draw(point: Point, like: torch.Tensor, index: int) -> torch.Tensor:
    """The ``index``-th matrix (M, N) that is drawn for a point, of the dtype of ``like``."""
    seed = point.seed + index
    return inputs.draw(point.distribution, like.dtype, point.M, point.N, seed, like.device)
