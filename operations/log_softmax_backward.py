"""log_softmax_backward: the gradient g - exp(y)·Σ g with respect to x, y each row's log-softmax."""

import torch

from . import FAST_EXP, ROUNDINGS, ROUNDOFF, SMALLEST_NORMAL, Exact, _gradient


def exact(g: torch.Tensor, y: torch.Tensor, dtype: torch.dtype) -> Exact:
    p, total = y.exp(), g.sum(dim=1, keepdim=True)
    second = (p * total).abs()
    scale = g.abs() + second
    # Rounding the argument of exp matters as in softmax; exp(-inf) is exact.
    of_exp = FAST_EXP + ROUNDINGS * ROUNDOFF * y.abs().clamp(max=1 / SMALLEST_NORMAL)
    of_sum = FAST_EXP * g.abs().sum(dim=1, keepdim=True)
    bound = ROUNDINGS * ROUNDOFF * scale + of_exp * second + p * of_sum
    bound += SMALLEST_NORMAL * (1 + total.abs())
    return Exact(g - p * total, bound, scale.clamp(min=torch.finfo(dtype).tiny))


def baseline(g: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    """Call the function that torch.autograd calls."""
    torch._log_softmax_backward_data(g, y, -1, y.dtype, out=out)


OPERATION = _gradient.gradient_of(
    torch.log_softmax,
    exact=exact,
    baseline=baseline,
    aten=("_log_softmax_backward_data.out",),
    watched=("torch.log_softmax", "torch._log_softmax_backward_data"),
)
