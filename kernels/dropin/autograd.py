"""Compute the derivatives of softmax and log-softmax from the output y alone.

With g the gradient with respect to y, over one row: softmax has dx = y·(g - Σ g·y), log-softmax
dx = g - exp(y)·Σ g. ``backward`` and ``inner_dim`` have the kernels.
Bytes: reads g and y, writes dx: 3·M·N·itemsize.
The second derivative uses torch's functions, so all further derivatives exist.
"""

import torch
from torch import Tensor

from . import launch as run
from .plain_tensor import plain


class Softmax(torch.autograd.Function):
    """Differentiable softmax of a plain tensor (``plain_tensor``) for eager callers.

    The custom operator does the same, but takes more host time.
    """

    @staticmethod
    def forward(ctx, x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
        y = run.launch_forward(x, dim, log, dtype)
        ctx.save_for_backward(y)
        ctx.rest = dim, log, x.dtype
        return y

    @staticmethod
    def backward(ctx, g: Tensor):
        (y,) = ctx.saved_tensors
        # With gradients enabled, the caller wants the derivative of this derivative.
        direct = not torch.is_grad_enabled() and plain(g) and plain(y)
        function = run.launch_backward if direct else torch.ops.softmax_bench.softmax_backward
        return function(g, y, *ctx.rest), None, None, None


# torch.autograd.Function.apply without its support for torch.func, which plain tensors never need:
# 4 instead of 6 µs (measured on a CPU).
apply = super(torch.autograd.Function, Softmax).apply


def second(g: Tensor, y: Tensor, dim: int, log: bool, v: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of Σ v·dx with respect to g and y, in y's dtype; all have one shape."""

    def total(t: Tensor) -> Tensor:
        return t.sum(dim, keepdim=True)

    v = v.to(y.dtype)
    if log:
        p = y.exp()
        return v - total(v * p), -v * p * total(g)
    return y * (v - total(v * y)), v * (g - total(g * y)) - g * total(v * y)
