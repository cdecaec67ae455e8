"""Compare rows with float64: the errors, and whether float32 arithmetic explains them.

All operations share one model. Float32 arithmetic may be off by a bound, up or down. Both ends of
this interval are rounded to the dtype, and every value between them is right. In 16 bits the
interval is mostly one value. A fixed tolerance would pass a kernel that returns zeros for long
rows, where every exact value is below the tolerance.
"""

from dataclasses import asdict, dataclass

import torch

import operations

from ..clock.base import Inputs


@dataclass
class Accuracy:
    """Hold the errors of an output against float64, and the first problem, if there is any."""

    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    max_row_sum_error: float = 0.0
    problem: str | None = None

    def columns(self) -> dict:
        return {key: value for key, value in asdict(self).items() if key != "problem"}


def check_rows(y: torch.Tensor, inputs: Inputs, op: str, truncates: bool = False) -> Accuracy:
    """Compare y (rows, …) in float64 with ``op`` of the inputs.

    If sums over a row mean something, they are compared with those of the exact values.
    ``truncates``: y may be rounded towards zero, as Triton's interpreter does for bfloat16.
    """
    operation, dtype, y = operations.load(op), y.dtype, y.double()
    exact = operation.exact(*(x.double() for x in inputs), dtype)
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
    sum_error = 0.0
    if operation.row_terms:
        sums, expected = (operation.row_terms(t).sum(dim=1) for t in (y, reference))
        sum_error = (sums - expected).abs().max().item()
    beyond = torch.maximum(low - y, y - high)
    return Accuracy(
        error.max().item(),
        (error / exact.scale).nan_to_num(0.0).max().item(),
        sum_error,
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
