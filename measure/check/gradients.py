"""Errors of softmax and log-softmax gradients against float64, and their tolerances.

A gradient is the difference of two terms, y·g and y·Σ g·y, or g and exp(y)·Σ g, which may be almost
equal. A share of the difference is then too strict for any arithmetic. A share of the row's largest
gradient is too loose: a kernel that drops the sum would pass, as over a row of thousands the sum is
small. So each term gets what its own rounding needs, its sum included; then the difference is
rounded to the dtype. A sum in float32 may be off by FAST_EXP of the sizes of its terms.
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
    tolerance: torch.Tensor  # allowed error of dx before it is rounded to the dtype


def _of_softmax(g: torch.Tensor, y: torch.Tensor, dtype: torch.dtype) -> _Exact:
    product = g * y
    total = product.sum(dim=1, keepdim=True)
    size = product.abs() + (y * total).abs()
    # On a GPU torch rounds g·y to the dtype before it adds. In 16 bits many products of a row may
    # be rounded the same way.
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

    ``truncates``: dx was rounded towards zero, as Triton's interpreter does for bfloat16. Relative
    errors are relative to the size of the two terms. Row sums are compared with those of float64.
    """
    dtype, dx = y.dtype, dx.double()
    exact = _EXACT[op](g.double(), y.double(), dtype)
    wrong = (dx.isnan() != exact.dx.isnan()) | (exact.dx.isinf() & (dx != exact.dx))
    if wrong.any():
        return never(wrong, dx, exact.dx, op)
    # An infinity of g is in its row's sum, and y is NaN in whole rows: those rows agree by now.
    defined = exact.dx.isfinite().all(dim=1)
    if not defined.any():
        return Accuracy()
    dx, reference = dx[defined], exact.dx[defined]
    size, tolerance = exact.size[defined], exact.tolerance[defined]
    tolerance += 2 * UNIT_ROUNDOFF[dtype] * reference.abs() if truncates else 0
    # A value too large for the dtype may become its infinity, or its largest number.
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
