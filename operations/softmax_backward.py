"""softmax_backward: the gradient y·(g - Σ g·y) with respect to x, y the softmax of each row."""

import torch

from . import FAST_EXP, ROUNDINGS, ROUNDOFF, SMALLEST_NORMAL, Exact, _gradient


def exact(g: torch.Tensor, y: torch.Tensor, dtype: torch.dtype) -> Exact:
    product, limits = g * y, torch.finfo(dtype)
    total = product.sum(dim=1, keepdim=True)
    scale = product.abs() + (y * total).abs()
    # On a GPU torch rounds g·y to the dtype before it adds them up, and in 16 bits many products of
    # a row may be rounded in the same direction.
    rounded = limits.eps / 2 * (product.abs() + limits.tiny)
    of_sum = FAST_EXP * product.abs().sum(dim=1, keepdim=True) + rounded.sum(dim=1, keepdim=True)
    bound = rounded + ROUNDINGS * ROUNDOFF * scale + y * of_sum
    bound += SMALLEST_NORMAL * (1 + g.abs() + total.abs())
    return Exact(y * (g - total), bound, scale.clamp(min=limits.tiny))


def baseline(g: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    """Call the function that torch.autograd calls."""
    torch._softmax_backward_data(g, y, -1, y.dtype, grad_input=out)


OPERATION = _gradient.gradient_of(
    torch.softmax,
    exact=exact,
    baseline=baseline,
    baseline_matrices=2,  # g·y on a GPU: one that all graphs share, and one outside of graphs
    aten=("_softmax_backward_data.out", "mul.Tensor"),
    watched=("torch.softmax", "torch._softmax_backward_data"),
)
