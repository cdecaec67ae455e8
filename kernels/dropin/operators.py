"""Make the drop-in known to torch: custom operators, and an autograd function for eager callers.

``softmax_bench::softmax`` and ``softmax_bench::softmax_backward`` serve compilers, transforms and
modes. They run on every device; without a kernel they call torch's own. Each has a fake
implementation for shapes, a derivative and a rule for ``vmap``.
With g the gradient with respect to y, over one row: softmax has dx = y·(g - Σ g·y), log-softmax
dx = g - exp(y)·Σ g. The second derivative uses torch's functions, so all further ones exist.
Bytes of a backward: reads g and y, writes dx: 3·M·N·itemsize.
Source: torch's manual, "Custom Python operators".
"""

import torch
from torch import Tensor, is_grad_enabled
from torch.compiler import is_dynamo_compiling
from torch.library import custom_op

from . import entry
from .eligible import TYPES, plain


@custom_op("softmax_bench::softmax", mutates_args=())
def softmax(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None = None) -> Tensor:
    """Return the contiguous (log-)softmax of x over ``dim`` (0 … rank-1), in dtype or x's dtype."""
    return entry.forward(x, dim, log, dtype)


@custom_op("softmax_bench::softmax_backward", mutates_args=())
def softmax_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """Return the gradient with respect to the input, in dtype, from g and the output y."""
    return entry.backward(g, y, dim, log, dtype)


@softmax.register_fake
def _(x, dim, log, dtype=None):
    return entry.empty_like(x, dtype or x.dtype)


@softmax_backward.register_fake
def _(g, y, dim, log, dtype):
    return entry.empty_like(y, dtype)


def _save(ctx, inputs, output):
    x, dim, log, _ = inputs
    ctx.save_for_backward(output)
    ctx.options = dim, log, x.dtype


def _backward(ctx, g):
    (y,) = ctx.saved_tensors
    return softmax_backward(g, y, *ctx.options), None, None, None


def _save_backward(ctx, inputs, output):
    g, y, ctx.dim, ctx.log, _ = inputs
    ctx.save_for_backward(g, y)


def _second(ctx, v):
    """Return the gradients of Σ v·dx with respect to g and y, in y's dtype; all have one shape."""

    def total(t: Tensor) -> Tensor:
        return t.sum(ctx.dim, keepdim=True)

    g, y = ctx.saved_tensors
    v = v.to(y.dtype)
    if ctx.log:
        p = y.exp()
        by_g, by_y = v - total(v * p), -v * p * total(g)
    else:
        # torch's formulas: a difference of two large v or g would overflow before y makes it small
        by_g = v * y - y * total(v * y)
        by_y = g * v - v * total(g * y) - g * total(v * y)
    return by_g, by_y, None, None, None


softmax.register_autograd(_backward, setup_context=_save)
softmax_backward.register_autograd(_second, setup_context=_save_backward)


@softmax.register_vmap
def _(info, in_dims, x, dim, log, dtype=None):
    return softmax(x.movedim(in_dims[0], 0), dim + 1, log, dtype), 0


@softmax_backward.register_vmap
def _(info, in_dims, g, y, dim, log, dtype):
    g, y = (
        t.expand(info.batch_size, *t.shape) if batch is None else t.movedim(batch, 0)
        for t, batch in zip((g, y), in_dims, strict=False)
    )
    return softmax_backward(g, y, dim + 1, log, dtype), 0


class Softmax(torch.autograd.Function):
    """Differentiate as the operator does, for eager callers and in less host time.

    Each argument, and each new object that a backward finds, costs 0.2 µs.
    """

    @staticmethod
    def forward(ctx, x: Tensor, known: entry.KnownLaunch) -> Tensor:
        y = known.repeat(x)
        ctx.save_for_backward(y)
        ctx.options = known.options
        return y

    @staticmethod
    def backward(ctx, g: Tensor):
        (y,) = ctx.saved_tensors
        dim, log, dtype = ctx.options
        dx = None
        # A compiler of the backward (compiled autograd) can see the operator alone. With gradients
        # enabled, the caller wants the derivative of this derivative.
        eager = not (is_dynamo_compiling() or is_grad_enabled())
        if eager and plain(g) and type(y) in TYPES:
            dx = entry.launch_backward(g, y, dim, log, dtype)
        return softmax_backward(g, y, dim, log, dtype) if dx is None else dx, None


# torch.autograd.Function.apply without its support for torch.func, which plain tensors never need:
# 4 instead of 6 µs (measured on a CPU).
apply = getattr(super(torch.autograd.Function, Softmax), "apply", Softmax.apply)
