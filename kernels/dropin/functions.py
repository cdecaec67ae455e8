"""Declare the library's functions: how each is computed, and what torch computes otherwise.

Everything else follows from an entry of FUNCTIONS: the public function, the custom operators, the
derivative, the rule for ``vmap``, the replacement of torch's operator, and ``warm-up``.
If g is the gradient with respect to the output y, then over one row softmax has
dx = y·(g - Σ g·y), and log-softmax has dx = g - exp(y)·Σ g. A backward reads g and y and writes
dx, so it moves 3·M·N·itemsize bytes.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from . import routes
from .library_function import LibraryFunction


def _declare(name: str, log: bool, second: Callable) -> LibraryFunction:
    """Return a function whose gradient is computed from its output; ``second`` differentiates that.

    ``second`` is the ``formula`` of the gradient's LibraryFunction.
    """
    forward_of_torch = getattr(torch.ops.aten, f"_{name}")
    backward_of_torch = getattr(torch.ops.aten, f"_{name}_backward_data")

    def forward(x: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
        return forward_of_torch(x if dtype is None else x.to(dtype), dim, False)

    def backward(g: Tensor, y: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
        return backward_of_torch(g, y, dim, y.dtype).to(dtype or g.dtype)

    gradient = LibraryFunction(
        name=f"{name}_backward",
        inputs=("g", "y"),
        routes=routes.backward(log),
        torch_function=backward,
        may_narrow=True,
        aten=f"_{name}_backward_data",
        formula=second,
    )
    return LibraryFunction(
        name=name,
        inputs=("x",),
        routes=routes.forward(log),
        torch_function=forward,
        may_narrow=False,
        aten=f"_{name}",
        gradient=gradient,
    )


def _second_of_softmax(g: Tensor, y: Tensor, v: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    # Multiplied out like torch's: a difference of two large v or g could overflow before y scales
    # it.
    by_g = v * y - y * (v * y).sum(dim, keepdim=True)
    by_y = g * v - v * (g * y).sum(dim, keepdim=True) - g * (v * y).sum(dim, keepdim=True)
    return by_g, by_y


def _second_of_log_softmax(g: Tensor, y: Tensor, v: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    p = y.exp()
    by_g = v - (v * p).sum(dim, keepdim=True)
    return by_g, -v * p * g.sum(dim, keepdim=True)


FUNCTIONS = (
    _declare("softmax", log=False, second=_second_of_softmax),
    _declare("log_softmax", log=True, second=_second_of_log_softmax),
)
