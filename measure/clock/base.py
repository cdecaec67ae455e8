"""The interface of the clocks."""

from collections.abc import Callable
from typing import Protocol

import torch

# A call's inputs and its output: (x, out), or of a backward (g, y, out).
CallBuffers = tuple[torch.Tensor, ...]
Call = Callable[..., object]  # takes the tensors of CallBuffers, in this order


class Clock(Protocol):
    """Times series of calls against each other, block by block, on a rotation of buffers."""

    timing: str  # the row's column of this name
    captures: int  # recordings of a series; each may have gone wrong alone
    rotation: list[CallBuffers]

    def add(self, name: str, call: Call) -> None:
        """Make a call a series of this name."""

    def compared(self, name: str) -> tuple[str | None, bool]:
        """Return None, or how a recorded call differs from others; and whether calls overlap."""

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

    def once(self, name: str, index: int) -> None:
        """Run one call of a series on the buffers of this index."""
