"""Compare rows with float64: compute the errors, and decide whether float32 explains them.

All operations share one model. Float32 arithmetic may be off by a bound, in both directions. Both
ends of this interval are rounded to the dtype, and every value between them is right. In 16 bits
the interval is mostly a single value. A fixed tolerance would not do: in long rows every exact
value is below it, so a kernel that returns zeros would pass.
"""

from dataclasses import dataclass

import numpy as np
import torch

import operations

from ..clock.base import Inputs, Out

ERRORS = "max_abs_error", "max_rel_error", "max_row_sum_error"


@dataclass
class Accuracy:
    """Hold the errors of outputs against float64, and the first problem, if there is any."""

    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    max_row_sum_error: float | None = None  # None if the sum of a row has no meaning
    problem: str | None = None

    def columns(self) -> dict:
        return {name: getattr(self, name) for name in ERRORS}


def check_rows(out: Out, inputs: Inputs, op: str, truncates: bool = False) -> Accuracy:
    """Compare the outputs for some rows with ``op`` of these rows' inputs, computed in float64.

    ``truncates``: bfloat16 outputs may be rounded towards zero, as by Triton's interpreter.
    """
    operation, outputs = operations.load(op), operations.as_tuple(out)
    *_, dtype = operation.sizes_and_dtype((*inputs, *outputs))
    accuracies = []
    results = operation.exact_outputs(inputs, dtype)
    for output, y, exact in zip(operation.outputs, outputs, results, strict=True):
        name = op if len(outputs) == 1 else f"{output.name} of {op}"
        accuracies.append(_check_output(output, y, exact, name, truncates))
    return worst(accuracies)


def worst(accuracies: list[Accuracy]) -> Accuracy:
    """Merge several checks: the largest errors, and the first problem."""
    errors = {name: [getattr(accuracy, name) for accuracy in accuracies] for name in ERRORS}
    measured = {name: [e for e in values if e is not None] for name, values in errors.items()}
    # numpy's maximum propagates NaN, which Python's max may drop
    largest = {name: float(np.max(values)) if values else None for name, values in measured.items()}
    problems = (accuracy.problem for accuracy in accuracies)
    return Accuracy(**largest, problem=next(filter(None, problems), None))


def _check_output(
    output: operations.Output, y: torch.Tensor, exact: operations.Exact, name: str, truncates: bool
) -> Accuracy:
    """Compare one output with its exact values, and its row sums if these have a meaning.

    ``name`` is what messages call the output.
    """
    dtype, y = y.dtype, y.double()
    wrong = (y.isnan() != exact.y.isnan()) | (exact.y.isinf() & (y != exact.y))
    if wrong.any():
        nan = float("nan")
        row_sum = nan if output.row_terms else None
        return Accuracy(nan, nan, row_sum, _described(wrong.nonzero()[0], y, exact.y, name))
    # Values that are not finite are right at this point; they become 0.
    y, reference, bound = (
        torch.where(exact.y.isfinite(), t, 0.0) for t in (y, exact.y, exact.bound)
    )
    low = _rounded(reference - bound, dtype, truncates)[0]
    high = _rounded(reference + bound, dtype, truncates)[1]
    # A value too large for the dtype may become infinity or the dtype's largest number.
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    y, reference, low, high = (t.clamp(limits.min, limits.max) for t in (y, reference, low, high))
    error = (y - reference).abs()
    sum_error = None
    if output.row_terms:
        sums, expected = (output.row_terms(t).sum(dim=1) for t in (y, reference))
        sum_error = (sums - expected).abs().max().item()
    beyond = torch.maximum(low - y, y - high)
    return Accuracy(
        error.max().item(),
        (error / exact.scale).nan_to_num(0.0).max().item(),
        sum_error,
        _furthest(beyond, y, reference, low, high, name),
    )


def _rounded(
    values: torch.Tensor, dtype: torch.dtype, truncates: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the smallest and the largest number to which each value may be rounded."""
    nearest = values.to(dtype).double()
    if not (truncates and dtype == torch.bfloat16):
        return nearest, nearest
    cut = (values.float().view(torch.int32) & -65536).view(torch.float32).double()
    return torch.minimum(nearest, cut), torch.maximum(nearest, cut)


def _furthest(beyond, y, reference, low, high, name: str) -> str | None:
    """Return a description of the element that is furthest outside [low, high], or None."""
    if not (beyond > 0).any():
        return None
    index = torch.unravel_index(beyond.argmax(), y.shape)
    interval = f"{low[index].item():.7g} to {high[index].item():.7g}"
    return f"{_described(index, y, reference, name)} (allowed: {interval})"


def _described(index, y: torch.Tensor, reference: torch.Tensor, name: str) -> str:
    index = tuple(map(int, index))
    place = f" at column {index[1]}" if len(index) > 1 else ""
    return f"{y[index].item():.7g}{place} where {name} is {reference[index].item():.7g}"
