"""The derivatives of softmax and log-softmax, both from the result y alone.

With g the gradient by y, over one row: softmax dx = y·(g - Σ g·y), log-softmax dx = g - exp(y)·Σ g.
Bytes: reads g and y, writes dx: 3·M·N·itemsize; kernels in ``backward`` and
``inner_dim``. Second derivatives are written in torch's functions, hence have all further ones.
"""

import torch
from torch import Tensor

from . import launch as run
from .plain_tensor import plain


class Softmax(torch.autograd.Function):
    """Softmax of a plain tensor (``plain_tensor``) for eager callers that want its gradient.

    What the custom operator does too, for less of the host's time.
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
        # With gradients enabled somebody wants the derivative of this one.
        direct = not torch.is_grad_enabled() and plain(g) and plain(y)
        function = run.launch_backward if direct else torch.ops.softmax_bench.softmax_backward
        return function(g, y, *ctx.rest), None, None, None


# torch.autograd.Function.apply without what it does for torch.func, whose transforms a plain tensor
# has not: 4 instead of 6 µs (measured on a CPU).
apply = super(torch.autograd.Function, Softmax).apply


def second(g: Tensor, y: Tensor, dim: int, log: bool, v: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients by g and by y of the sum of v · dx, all of one shape; in y's dtype."""

    def total(t: Tensor) -> Tensor:
        return t.sum(dim, keepdim=True)

    v = v.to(y.dtype)
    if log:
        p = y.exp()
        return v - total(v * p), -v * p * total(g)
    return y * (v - total(v * y)), v * (g - total(g * y)) - g * total(v * y)
