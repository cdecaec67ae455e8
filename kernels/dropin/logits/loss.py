"""Compute losses of rows of logits, or their mean or sum; on request, with the gradient at once.

Usually ``rows`` computes the losses in the forward and their gradient in the backward. With
``EagerLossAndGradient`` one kernel does both, while a row is in registers.
"""

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from ...logits import RowOptions, RowTensors
from ..eligible import bypasses_dispatcher, eager_apply, transforms
from .by_torch import gradient_by_torch, values_by_torch
from .rows import (
    compute,
    gradient,
    launched_values,
    may_launch,
    may_overwrite,
    new_float32,
    row_kernels,
    try_launch,
    values,
)

ONCE = (
    "a gradient that gradient_in_forward has computed can be taken once, and has no derivative; "
    "call cross_entropy without it for several backwards and for create_graph"
)


class EagerReducedLoss(torch.autograd.Function):
    """Compute the mean or the sum of losses, and their gradient in one pass in the backward."""

    @staticmethod
    def forward(ctx, x, tensors: RowTensors, options: RowOptions, is_sum: bool, in_place: bool):
        launched = launched_values(tensors, options, keeps_sums=True)
        losses, _, sums = launched or values_by_torch(tensors, options)
        mean, scale = reduce_losses(losses, tensors, options, is_sum, launched is not None)
        ctx.save_for_backward(x, tensors.index, sums, scale)
        ctx.options, ctx.in_place = options, in_place
        return mean

    @staticmethod
    def backward(ctx, g):
        x, index, sums, scale = ctx.saved_tensors
        if torch.is_grad_enabled():
            g = (g * scale).expand(index.shape)
            return gradient_by_torch(g, None, RowTensors(x, index), None, ctx.options), *[None] * 4
        tensors = RowTensors(x.detach(), index)
        dx = gradient(g, None, tensors, sums, ctx.options, ctx.in_place, scale)
        return dx, *[None] * 4


class EagerLossAndGradient(torch.autograd.Function):
    """Compute the losses, or their mean or sum, and already in the forward the gradient."""

    @staticmethod
    def forward(ctx, x, tensors: RowTensors, options: RowOptions, reduction: str, in_place: bool):
        tensors = tensors._replace(x=x.detach())
        scale = _inverse(_count(tensors, options)) if reduction == "mean" else None
        losses, ctx.dx = _losses_and_gradient(tensors, options, scale, in_place)
        if reduction == "none":
            return losses
        launches = may_launch(tensors, options)
        return reduce_losses(losses, tensors, options, reduction == "sum", launches)[0]

    @staticmethod
    def backward(ctx, g):
        if ctx.dx is None or torch.is_grad_enabled() or transforms():
            raise RuntimeError(ONCE)
        dx, ctx.dx = ctx.dx, None
        g, options = g.contiguous().float(), RowOptions("CrossEntropy")
        launches = may_launch(RowTensors(dx), options)
        if not (launches and try_launch(dx, options, row_kernels().multiply_rows, dx, g)):
            dx.mul_(g[:, None] if g.dim() else g)
        return dx, *[None] * 4


apply_reduced_loss = eager_apply(EagerReducedLoss)
apply_loss_and_gradient = eager_apply(EagerLossAndGradient)


def _losses_and_gradient(
    tensors: RowTensors, options: RowOptions, scale: Tensor | None, in_place: bool
) -> tuple[Tensor, Tensor]:
    """Return the losses and ``scale`` times their gradient, in x's memory if ``in_place``."""
    x, index, *_ = tensors
    if may_launch(tensors, options):
        kernels = row_kernels()
        if kernels.fits_in_registers(options.operation, x.dtype, x.shape[1], x.get_device()):
            losses = new_float32(index.shape, x)
            dx = x if in_place else torch.empty_like(x, memory_format=torch.contiguous_format)
            arguments = options, tensors, losses, dx, scale
            if try_launch(x, options, kernels.forward_and_backward, *arguments):
                if in_place:
                    torch.autograd.graph.increment_version(x)
                return losses, dx
    losses, _, sums = values(tensors, options)
    one = losses.new_ones(())
    return losses, gradient(one, None, tensors, sums, options, in_place, scale)


def _count(tensors: RowTensors, options: RowOptions) -> Tensor:
    """Return the number of targets that are not ignored."""
    return (tensors.index != options.ignore_index).sum()


def _inverse(count: Tensor) -> Tensor:
    """Return 1 / count in float32, which kernels read, whatever torch's default dtype is."""
    return count.float().reciprocal()


def reduce_losses(
    losses: Tensor, tensors: RowTensors, options: RowOptions, is_sum: bool, launches: bool
) -> tuple[Tensor, Tensor]:
    """Return the mean or the sum of losses, and the factor by which it scales the gradient.

    ``launches``: whether a kernel may compute them, as ``may_launch`` says.
    """
    if launches:
        result, scale = new_float32((), losses), new_float32((), losses)
        arguments = losses, tensors.index, result, scale, options.ignore_index, is_sum
        if try_launch(tensors.x, options, row_kernels().loss_mean, *arguments):
            return result, scale
    if is_sum:
        return losses.sum(), losses.new_ones(())
    count = _count(tensors, options)
    return losses.sum() / count, _inverse(count)


def compute_loss(
    tensors: RowTensors,
    options: RowOptions,
    reduction: str,
    gradient_in_forward: bool,
    in_place: bool,
    is_taken: bool,
) -> Tensor:
    """Return the losses of rows, or their mean or sum, by a kernel if one supports them.

    ``is_taken`` is what ``takes`` says about the logits.
    """
    x, is_sum = tensors.x, reduction == "sum"
    differentiates = x.requires_grad and torch.is_grad_enabled()
    is_eager = is_taken and not is_dynamo_compiling() and bypasses_dispatcher(x)
    if gradient_in_forward and differentiates and is_eager:
        in_place = in_place and may_overwrite(x)
        return apply_loss_and_gradient(x, tensors, options, reduction, in_place)
    if reduction == "none":
        return compute(tensors, options, in_place)[0]
    if not is_eager:
        losses, _ = compute(tensors, options)
        return losses.sum() / (1 if is_sum else _count(tensors, options))
    if differentiates:
        return apply_reduced_loss(x, tensors, options, is_sum, in_place and may_overwrite(x))
    launched = launched_values(tensors, options, keeps_sums=False)
    losses, *_ = launched or values_by_torch(tensors, options)
    return reduce_losses(losses, tensors, options, is_sum, launched is not None)[0]
