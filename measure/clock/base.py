"""The interface of the clocks, and how they choose among equals."""

import statistics
from collections.abc import Callable
from typing import Protocol

import torch

# A call's inputs and its output: (x, out), or of a backward (g, y, out).
CallBuffers = tuple[torch.Tensor, ...]
Call = Callable[..., object]  # takes the tensors of CallBuffers, in this order

TRIALS = 7  # per candidate


class Clock(Protocol):
    """Times series of calls against each other, block by block, on a rotation of buffers."""

    timing: str  # the row's column of this name
    captures: int  # recordings of a series; each may have gone wrong alone
    rotation: list[CallBuffers]

    def add(self, name: str, call: Call) -> None:
        """Make a call a series of this name."""

    def block(self, order: list[str], while_busy: Callable[[], None] | None = None) -> list[float]:
        """Time every series once, in this order; return µs per call, in the same order.

        ``while_busy`` is called once, while the series run.
        """

    def warm_us(self, name: str) -> float:
        """Return the median µs of a call on buffers that stay in the cache."""

    def replay(self, name: str) -> None:
        """Run a series once more on every set of buffers, untimed, and wait for it."""

    def again(self, name: str, index: int) -> None:
        """Run a series on the buffers of this index as a timed block does."""

    def audit(self, name: str) -> str | None:
        """Return None, or what is wrong with calls that a recording may have left out."""


def fastest(candidates: int, time_us: Callable[[int], float]) -> int:
    """Return the index of the candidate with the smallest median of ``time_us(index)``.

    They are tried in turn, so that a drift of the clocks hits all alike.
    """
    seen = [[] for _ in range(candidates)]
    for _ in range(TRIALS):
        for index, times in enumerate(seen):
            times.append(time_us(index))
    medians = [statistics.median(times) for times in seen]
    return medians.index(min(medians))
