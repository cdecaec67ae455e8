"""Register the drop-in as torch's custom operators, for compilers, transforms and modes.

``softmax_bench::softmax`` and ``softmax_bench::softmax_backward`` run on every device; without a
kernel they call torch's own. Each has an implementation, a fake implementation for shapes, a
derivative and a rule for ``vmap``. Source: torch's manual, "Custom Python operators".
"""

import torch
from torch import Tensor
from torch.library import custom_op

from . import launch as run
from .autograd import second


@custom_op("softmax_bench::softmax", mutates_args=())
def softmax(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None = None) -> Tensor:
    """Return the contiguous (log-)softmax of x over ``dim`` (0 … rank-1), in dtype or x's dtype."""
    return run.forward(x, dim, log, dtype)


@custom_op("softmax_bench::softmax_backward", mutates_args=())
def softmax_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """Return the gradient with respect to the input, in dtype, from g and the output y."""
    return run.backward(g, y, dim, log, dtype)


@softmax.register_fake
def _(x, dim, log, dtype=None):
    return torch.empty_like(x, dtype=dtype or x.dtype, memory_format=torch.contiguous_format)


@softmax_backward.register_fake
def _(g, y, dim, log, dtype):
    return torch.empty_like(y, dtype=dtype, memory_format=torch.contiguous_format)


def _save(ctx, inputs, output):
    x, dim, log, _ = inputs
    ctx.save_for_backward(output)
    ctx.rest = dim, log, x.dtype


def _backward(ctx, g):
    (y,) = ctx.saved_tensors
    return softmax_backward(g, y, *ctx.rest), None, None, None


def _save_backward(ctx, inputs, output):
    g, y, ctx.dim, ctx.log, _ = inputs
    ctx.save_for_backward(g, y)


def _second(ctx, v):
    return *second(*ctx.saved_tensors, ctx.dim, ctx.log, v), None, None, None


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
