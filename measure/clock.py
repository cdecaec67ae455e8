"""What the clocks have in common: what they time, and how they choose among equals."""

import statistics
from collections.abc import Callable

import torch

Pair = tuple[torch.Tensor, ...]  # what a call reads and its output: (x, out); backward (g, y, out)
Call = Callable[..., object]  # takes a pair, in this order

TRIALS = 7  # per candidate


def fastest(candidates: int, time_us: Callable[[int], float]) -> int:
    """Index of the candidate with the smallest median of ``time_us(index)``.

    They are tried in turn, so that a drift of the clocks hits all alike.
    """
    seen = [[] for _ in range(candidates)]
    for _ in range(TRIALS):
        for index, times in enumerate(seen):
            times.append(time_us(index))
    medians = [statistics.median(times) for times in seen]
    return medians.index(min(medians))
