"""Compare rows with float64: the errors, and whether float32 arithmetic explains them.

All operations share one model. Float32 arithmetic may be off by a bound, up or down. Both ends of
this interval are rounded to the dtype, and every value between them is right. In 16 bits the
interval is mostly one value. A fixed tolerance would pass a kernel that returns zeros for long
rows, where every exact value is below the tolerance.
"""

from dataclasses import asdict, dataclass

import torch

from ..clock.base import Inputs

ROUNDOFF = 2.0**-24  # of float32: half the distance from 1 to the next number
FAST_EXP = 4e-6  # relative error of the hardware's fast exp2, and of a sum of N of its results
STEPS = 8  # round-offs of float32 in a few operations, and in the argument of exp
SMALLEST_NORMAL = 2.0**-126  # of float32: kernels may flush smaller numbers to 0


@dataclass
class Accuracy:
    """Hold the errors of an output against float64, and the first problem, if there is any."""

    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    max_row_sum_error: float = 0.0
    problem: str | None = None

    def columns(self) -> dict:
        return {key: value for key, value in asdict(self).items() if key != "problem"}


@dataclass
class _Exact:
    """Hold results in float64, all of shape (rows, N)."""

    y: torch.Tensor
    bound: torch.Tensor  # the largest error that float32 arithmetic may make
    scale: torch.Tensor  # a relative error is error / scale; infinite where it has no meaning


def _softmax(x: torch.Tensor, dtype: torch.dtype) -> _Exact:
    y, limits = torch.softmax(x, dim=-1), torch.finfo(dtype)
    # Rounding the argument of exp costs a relative error in proportion to the argument: the
    # distance from the maximum.
    distance = (x.amax(dim=1, keepdim=True) - x).clamp(max=1 / SMALLEST_NORMAL)
    bound = y * (FAST_EXP + STEPS * ROUNDOFF * (1 + distance)) + SMALLEST_NORMAL
    # Subnormal numbers have few significant bits.
    least = (limits.eps / 2 * y.amax(dim=1, keepdim=True)).clamp(min=limits.tiny)
    return _Exact(y, bound, torch.where(y >= least, y, torch.inf))


def _log_softmax(x: torch.Tensor, dtype: torch.dtype) -> _Exact:
    y = torch.log_softmax(x, dim=-1)
    return _Exact(y, FAST_EXP + STEPS * ROUNDOFF * y.abs(), y.abs().clamp(min=1.0))


# A gradient is the difference of two terms, which may be almost equal. A bound in proportion to it
# is too strict for any arithmetic, and in proportion to the row's largest gradient too loose: a
# kernel that drops the sum would pass. So the rounding errors of both terms and of the sum add up.


def _softmax_backward(g: torch.Tensor, y: torch.Tensor, dtype: torch.dtype) -> _Exact:
    product, limits = g * y, torch.finfo(dtype)
    total = product.sum(dim=1, keepdim=True)
    scale = product.abs() + (y * total).abs()
    # On a GPU torch rounds g·y to the dtype before it sums. In 16 bits many products of a row may
    # be rounded in the same direction.
    rounded = limits.eps / 2 * (product.abs() + limits.tiny)
    of_sum = FAST_EXP * product.abs().sum(dim=1, keepdim=True) + rounded.sum(dim=1, keepdim=True)
    bound = rounded + STEPS * ROUNDOFF * scale + y * of_sum
    bound += SMALLEST_NORMAL * (1 + g.abs() + total.abs())
    return _Exact(y * (g - total), bound, scale.clamp(min=limits.tiny))


def _log_softmax_backward(g: torch.Tensor, y: torch.Tensor, dtype: torch.dtype) -> _Exact:
    p, total = y.exp(), g.sum(dim=1, keepdim=True)
    second = (p * total).abs()
    scale = g.abs() + second
    # Rounding the argument of exp counts as in softmax; -inf is exact.
    of_exp = FAST_EXP + STEPS * ROUNDOFF * y.abs().clamp(max=1 / SMALLEST_NORMAL)
    of_sum = FAST_EXP * g.abs().sum(dim=1, keepdim=True)
    bound = STEPS * ROUNDOFF * scale + of_exp * second + p * of_sum
    bound += SMALLEST_NORMAL * (1 + total.abs())
    return _Exact(g - p * total, bound, scale.clamp(min=torch.finfo(dtype).tiny))


EXACT = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "softmax_backward": _softmax_backward,
    "log_softmax_backward": _log_softmax_backward,
}


def check_rows(y: torch.Tensor, inputs: Inputs, op: str, truncates: bool = False) -> Accuracy:
    """Compare y in float64 with ``op`` of the inputs, all (rows, N) of one dtype.

    Row sums are compared with row sums of the exact values; for log-softmax, sums of exp.
    ``truncates``: y may be rounded towards zero, as Triton's interpreter does for bfloat16.
    """
    dtype, y = inputs[0].dtype, y.double()
    exact = EXACT[op](*(x.double() for x in inputs), dtype)
    wrong = (y.isnan() != exact.y.isnan()) | (exact.y.isinf() & (y != exact.y))
    if wrong.any():
        nan = float("nan")
        return Accuracy(nan, nan, nan, _described(wrong.nonzero()[0], y, exact.y, op))
    # Every value that is not finite is right from here on: set it to 0.
    y, reference, bound = (
        torch.where(exact.y.isfinite(), t, 0.0) for t in (y, exact.y, exact.bound)
    )
    low = _rounded(reference - bound, dtype, truncates)[0]
    high = _rounded(reference + bound, dtype, truncates)[1]
    # A value too large for the dtype may become its infinity, or its largest number.
    limits = torch.finfo(dtype)
    y, reference, low, high = (t.clamp(limits.min, limits.max) for t in (y, reference, low, high))
    error = (y - reference).abs()
    sums, expected = ((t.exp() if op == "log_softmax" else t).sum(dim=1) for t in (y, reference))
    beyond = torch.maximum(low - y, y - high)
    return Accuracy(
        error.max().item(),
        (error / exact.scale).nan_to_num(0.0).max().item(),
        (sums - expected).abs().max().item(),
        _worst(beyond, y, reference, low, high, op),
    )


def _rounded(
    values: torch.Tensor, dtype: torch.dtype, truncates: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the least and the greatest number to which each value may be rounded."""
    nearest = values.to(dtype).double()
    if not (truncates and dtype == torch.bfloat16):
        return nearest, nearest
    cut = (values.float().view(torch.int32) & -65536).view(torch.float32).double()
    return torch.minimum(nearest, cut), torch.maximum(nearest, cut)


def _worst(beyond, y, reference, low, high, op: str) -> str | None:
    """Return None, or a description of the element furthest outside [low, high]; all (rows, N)."""
    if not (beyond > 0).any():
        return None
    index = divmod(beyond.argmax().item(), y.shape[1])
    interval = f"{low[index].item():.7g} to {high[index].item():.7g}"
    return f"{_described(index, y, reference, op)} (allowed: {interval})"


def _described(index, y: torch.Tensor, reference: torch.Tensor, op: str) -> str:
    row, col = map(int, index)
    return (
        f"{y[row, col].item():.7g} at column {col} where {op} is {reference[row, col].item():.7g}"
    )
