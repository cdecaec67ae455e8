"""How far rows are from the backward of softmax, or log-softmax, in float64, and how far may be.

A gradient is the difference of two terms, y·g and y·Σ g·y, or g and exp(y)·Σ g, that may be almost
the same. A share of the difference is then too little for any arithmetic, and a share of the row's
largest gradient so much that a kernel passes which drops the sum: over a row of thousands it is
small. So each term gets what its own rounding needs, its sum included, and the difference is
rounded to the dtype only then. Float32 is trusted with a sum as it is in softmax, to FAST_EXP of
the sizes of what is added.
"""

from dataclasses import dataclass

import torch

from .tolerance import FAST_EXP, RTOL_ROUNDOFFS, SMALLEST, UNIT_ROUNDOFF, Accuracy, beyond, never

FLOAT32_STEPS = RTOL_ROUNDOFFS * UNIT_ROUNDOFF[torch.float32]  # of arithmetic, relative
SMALLEST_NORMAL = torch.finfo(torch.float32).tiny  # kernels may flush what is below it to 0


@dataclass
class _Exact:
    """A gradient in float64; all of shape (rows, N)."""

    dx: torch.Tensor
    size: torch.Tensor  # of the two terms together
    tolerance: torch.Tensor  # what dx may be off by before it is rounded to the dtype


def _of_softmax(g: torch.Tensor, y: torch.Tensor, dtype: torch.dtype) -> _Exact:
    product = g * y
    total = product.sum(dim=1, keepdim=True)
    size = product.abs() + (y * total).abs()
    # torch, on a GPU, rounds g·y to the dtype before it adds. On a grid as coarse as that of 16
    # bits many products of a row may be off the same way.
    rounded = UNIT_ROUNDOFF[dtype] * product.abs() + SMALLEST[dtype] / 2
    of_sum = FAST_EXP * product.abs().sum(dim=1, keepdim=True) + rounded.sum(dim=1, keepdim=True)
    tolerance = rounded + FLOAT32_STEPS * size + y * of_sum
    tolerance += SMALLEST_NORMAL * (1 + g.abs() + total.abs())
    return _Exact(y * (g - total), size, tolerance)


def _of_log_softmax(g: torch.Tensor, y: torch.Tensor, dtype: torch.dtype) -> _Exact:
    p, total = y.exp(), g.sum(dim=1, keepdim=True)
    second = (p * total).abs()
    size = g.abs() + second
    # The argument of exp is rounded too, by a share of itself; -inf is exact.
    of_exp = FAST_EXP + FLOAT32_STEPS * y.abs().clamp(max=torch.finfo(torch.float32).max)
    of_sum = FAST_EXP * g.abs().sum(dim=1, keepdim=True)
    tolerance = FLOAT32_STEPS * size + of_exp * second + p * of_sum
    tolerance += SMALLEST_NORMAL * (1 + total.abs())
    return _Exact(g - p * total, size, tolerance)


_EXACT = {"softmax_backward": _of_softmax, "log_softmax_backward": _of_log_softmax}


def check_values(
    dx: torch.Tensor, g: torch.Tensor, y: torch.Tensor, op: str, truncates: bool = False
) -> Accuracy:
    """Compare rows dx with ``op`` of rows g and y, all (rows, N) of one dtype, in float64.

    ``truncates``: dx was rounded towards zero, as Triton's interpreter does for bfloat16. Errors
    are relative to the size of the two terms, sums to those of float64.
    """
    dtype, dx = y.dtype, dx.double()
    exact = _EXACT[op](g.double(), y.double(), dtype)
    wrong = (dx.isnan() != exact.dx.isnan()) | (exact.dx.isinf() & (dx != exact.dx))
    if wrong.any():
        return never(wrong, dx, exact.dx, op)
    # What is infinite in g is in its row's sum, and y is NaN in whole rows: these agree by now.
    defined = exact.dx.isfinite().all(dim=1)
    if not defined.any():
        return Accuracy()
    dx, reference = dx[defined], exact.dx[defined]
    size, tolerance = exact.size[defined], exact.tolerance[defined]
    tolerance += 2 * UNIT_ROUNDOFF[dtype] * reference.abs() if truncates else 0
    # What is too large for the dtype may become its infinity, or its largest.
    limits = torch.finfo(dtype).min, torch.finfo(dtype).max
    low = (reference - tolerance).to(dtype).double().clamp(*limits)
    high = (reference + tolerance).to(dtype).double().clamp(*limits)
    dx, reference = dx.clamp(*limits), reference.clamp(*limits)
    error = (dx - reference).abs()
    allowed = torch.where(dx < reference, reference - low, high - reference)
    relative = error / size.clamp(min=torch.finfo(dtype).tiny)
    sum_error = (dx.sum(dim=1) - reference.sum(dim=1)).abs()
    return Accuracy(
        error.max().item(),
        relative.max().item(),
        sum_error.max().item(),
        beyond(error, allowed, dx, reference, op),
    )
