"""Define what a clock offers to timing and to the checks after it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Union

from operations import as_tuple

if TYPE_CHECKING:
    import torch

Inputs = tuple["torch.Tensor", ...]  # the operation's, in its order
Out = Union["torch.Tensor", tuple["torch.Tensor", ...]]  # a tuple where there are several
CallBuffers = tuple  # (*inputs, out)
Call = Callable[..., object]  # takes the parts of CallBuffers, in this order

# The series of a point: the variant, torch's own operation twice, the roofline (a copy, for most
# operations), and for few long rows the roofline whose blocks meet.
VARIANT, TORCH, TORCH_AGAIN, COPY, MEET = "variant", "torch", "torch_again", "copy", "meet"


def tensors_of(buffers: CallBuffers) -> "tuple[torch.Tensor, ...]":
    """Return all tensors of a call, the inputs first."""
    *inputs, out = buffers
    return *inputs, *as_tuple(out)


class NotCapturable(RuntimeError):
    """Say why a variant's calls cannot be recorded in a CUDA graph."""


class UnjoinedWork(RuntimeError):
    """Tell that a call leaves work on a stream for which the caller's stream does not wait."""


class Clock(Protocol):
    """Time series of calls against each other, block by block, on a rotation of buffers."""

    timing: str  # the row's column of this name
    rotation: list[CallBuffers]

    def add(self, call: Call, *names: str) -> None:
        """Make a call a series of each of these names."""

    def compare_graph(self, name: str) -> tuple[str | None, bool]:
        """Return None, or how a recorded call differs from others; and whether calls overlap."""

    def block(self, order: list[str], while_busy: Callable[[], None] | None = None) -> list[float]:
        """Time every series once, in this order; return µs per call, in the same order.

        A GPU's clock calls ``while_busy`` once, while the series run.
        """

    def warm_us(self, name: str) -> float:
        """Return the median µs of a call on buffers that stay in the cache."""

    def submit(self, order: list[str]) -> list[float]:
        """Submit eager calls of every series, one series after another, in this order.

        Return the host's µs per call, in the same order; [] on a CPU, whose calls have no launch.
        """

    def cold_loads(self, name: str, seed: int) -> dict:
        """Return the columns that show how much of its buffers a call would find in L2."""

    def replay(self, name: str) -> None:
        """Run a series once more on every set of buffers, untimed, and wait for it."""

    def call_once(self, name: str, index: int) -> None:
        """Run one call of a series on the buffers of this index."""
