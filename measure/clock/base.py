"""Define the interface of a clock, which timing and the checks after it use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Union

from operations import as_tuple

if TYPE_CHECKING:
    import torch

Inputs = tuple["torch.Tensor", ...]  # ordered like the operation's inputs
Out = Union["torch.Tensor", tuple["torch.Tensor", ...]]  # a tuple if there are several outputs
CallBuffers = tuple  # (*inputs, out)
Call = Callable[..., object]  # called as call(*inputs, out)

# Series of a point: the variant, torch's own operation twice (A/A), the roofline, which is a copy
# for most operations, and for few long rows the roofline whose blocks wait for each other.
VARIANT, TORCH, TORCH_AGAIN, COPY, MEET = "variant", "torch", "torch_again", "copy", "meet"


def tensors_of(buffers: CallBuffers) -> "tuple[torch.Tensor, ...]":
    """Return all tensors of a call: the inputs, then the outputs."""
    *inputs, out = buffers
    return *inputs, *as_tuple(out)


class NotCapturable(RuntimeError):
    """Say why a variant's calls cannot be recorded in a CUDA graph."""


class UnjoinedWork(RuntimeError):
    """Report that a call leaves work on a stream that the caller's stream does not wait for."""


class Clock(Protocol):
    """Time series of calls, interleaved block by block, on a rotation of buffers.

    A series is a call under a name. It is timed many times in a row, each time on the next buffers
    of the rotation, which together exceed the cache.
    """

    timing: str  # value of the row's column ``timing``
    rotation: list[CallBuffers]

    def add(self, call: Call, *names: str) -> None:
        """Add a series of this call for each name."""

    def compare_graph(self, name: str) -> tuple[str | None, bool]:
        """Return how recorded calls differ from one another, or None; and whether they overlap."""

    def block(self, order: list[str], while_busy: Callable[[], None] | None = None) -> list[float]:
        """Time every series once, in this order; return µs per call, in the same order.

        A GPU's clock calls ``while_busy`` once, while the series run.
        """

    def warm_us(self, name: str) -> float:
        """Return the median time in µs of a call whose buffers stay in the cache."""

    def submit(self, order: list[str]) -> list[float]:
        """Submit eager calls of every series, one series after another, in this order.

        Returns the host time in µs per call, in this order; [] on a CPU, which launches nothing.
        """

    def cold_loads(self, name: str, seed: int) -> dict:
        """Return the columns that show how much of its buffers a timed call would find in L2."""

    def replay(self, name: str) -> None:
        """Run a series once more on every set of buffers, untimed, and wait for it."""

    def call_once(self, name: str, index: int) -> None:
        """Run one call of a series on the buffers at this index of the rotation."""
