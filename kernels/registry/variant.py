"""Define the interface of a variant, and the matrices that none supports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..contract import DTYPES

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Variant:
    """Hold one way to compute some of the operations.

    ``function(op)`` is called with the operation's inputs and ``out=None``, and returns ``out`` or
    a new tensor. If the operation has several outputs, both are tuples. Each function is also an
    attribute, such as ``variant.softmax``. ``softmax(x, out=None)`` and ``log_softmax(x,
    out=None)``: x is on the current GPU or on a CPU. It has shape (M, N), any row stride, unit
    column stride, and dtype float32, float16 or bfloat16, and so has the result. Arithmetic is in
    float32. ``softmax_backward(g, y, out=None)`` returns y·(g - Σ g·y), the gradient with respect
    to x. ``log_softmax_backward(g, y, out=None)`` returns g - exp(y)·Σ g. y is the output of the
    forward and g the gradient with respect to y; they have the same shape and dtype.

    ``unsupported(x)`` returns None, or a sentence that says why the variant cannot take x, for
    example because it requires aligned rows. A variant that takes x must also take fewer rows, and
    any row stride that keeps x's alignment. Callers ask first: about x, or about g for a backward.
    The other matrices have the same shape, dtype, device and alignment, and unit column stride.
    """

    name: str
    module: object  # the variant's module, or its config
    unsupported: Callable

    def function(self, op: str) -> Callable:
        """Return the function for an operation. Raises NotImplementedError if there is none."""
        function = getattr(self.module, op, None)
        if not callable(function):
            raise NotImplementedError(f"{self.name} has no {op}")
        return function

    def __getattr__(self, op: str) -> Callable:
        if op.startswith("_"):
            raise AttributeError(op)
        try:
            return self.function(op)
        except NotImplementedError as error:
            raise AttributeError(str(error)) from None


def why_unsupported(x: torch.Tensor) -> str | None:
    """Return a sentence that says why no variant supports x, or None."""
    if x.dim() != 2:
        return f"x has {x.dim()} dimensions; a matrix (M, N) is needed"
    if str(x.dtype).removeprefix("torch.") not in DTYPES:
        return f"x is {x.dtype}; float32, float16 and bfloat16 are supported"
    if x.numel() == 0:
        return f"x has no elements (shape {tuple(x.shape)})"
    if x.stride(1) != 1 and x.shape[1] > 1:
        return f"x has column stride {x.stride(1)}; the elements of a row must be adjacent"
    return None
