"""Errors of softmax and log-softmax against float64, and their tolerances.

The backward has its own in ``gradients``. Tolerances scale with the dtype and with the row. With a
fixed absolute tolerance a kernel that returns zeros passes as soon as rows are long: every true
value is below it.
"""

from dataclasses import asdict, dataclass

import torch

# Unit round-off: half the distance from 1 to the next number.
UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
# Smallest positive (subnormal) number: a correct result below it has nothing nearer to round to.
SMALLEST = {torch.float32: 2.0**-149, torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133}

FAST_EXP = 4e-6  # relative; kernels may use the hardware's fast exp2 in float32
RTOL_ROUNDOFFS = 8  # relative tolerance of an element, in unit round-offs
ATOL_ROUNDOFFS = 4  # absolute tolerance of an element, in unit round-offs of the row's maximum
SUM_ROUNDOFFS = 1.5  # every element may round the same way, by one unit round-off at most


@dataclass
class Accuracy:
    """The errors of an output against float64, and the first problem, if there is any."""

    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    max_row_sum_error: float = 0.0
    problem: str | None = None

    def columns(self) -> dict:
        """Return the row's accuracy columns."""
        return {key: value for key, value in asdict(self).items() if key != "problem"}


@dataclass
class _Bounds:
    """Errors of rows y and their tolerances, of shape (rows, N); of sums, (rows,)."""

    error: torch.Tensor
    allowed: torch.Tensor
    relative: torch.Tensor
    sums: torch.Tensor  # of the probabilities: of y, or of exp(y)
    sum_allowed: torch.Tensor


def check_values(
    y: torch.Tensor, x: torch.Tensor, op: str = "softmax", truncates: bool = False
) -> Accuracy:
    """Compare rows y with ``op`` of rows x, both (rows, N) of one dtype, in float64.

    ``truncates``: y was rounded towards zero, as Triton's interpreter does for bfloat16.
    """
    reference = getattr(torch, op)(x.double(), dim=-1)
    dtype, y = x.dtype, y.double()

    wrong_nan = y.isnan() != reference.isnan()
    if wrong_nan.any():
        return never(wrong_nan, y, reference, op)
    # Rows that are NaN by definition (all -inf, any +inf or NaN) agree by now: leave them out.
    defined = ~reference.isnan().any(dim=1)
    y, reference = y[defined], reference[defined]
    if y.numel() == 0:
        return Accuracy()

    if op == "log_softmax":
        wrong_infinity = _wrong_infinity(y, reference, dtype)
        if wrong_infinity.any():
            return never(wrong_infinity, y, reference, op)
        bounds = _of_log_softmax(y, reference, dtype, truncates)
    else:
        bounds = _of_softmax(y, reference, dtype)
    return _judge(bounds, y, reference, op)


def _of_softmax(y: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype) -> _Bounds:
    u, smallest = UNIT_ROUNDOFF[dtype], SMALLEST[dtype]
    row_max = reference.amax(dim=1, keepdim=True)
    error = (y - reference).abs()
    allowed = max(RTOL_ROUNDOFFS * u, FAST_EXP) * reference
    allowed += ATOL_ROUNDOFFS * u * row_max + smallest
    # Subnormal numbers have no relative precision to speak of.
    relevant = reference >= (u * row_max).clamp(min=torch.finfo(dtype).tiny)
    relative = torch.where(relevant, error / reference, 0.0)
    sum_allowed = SUM_ROUNDOFFS * u + FAST_EXP + 0.5 * smallest * y.shape[1]
    sums = y.sum(dim=1)
    return _Bounds(error, allowed, relative, sums, torch.full_like(sums, sum_allowed))


def _of_log_softmax(
    y: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype, truncates: bool
) -> _Bounds:
    u, largest = UNIT_ROUNDOFF[dtype], torch.finfo(dtype).max
    # Values beyond the dtype may become its infinity: _wrong_infinity has checked them.
    y, reference = y.clamp(min=-largest), reference.clamp(min=-largest)
    # The error that float32 arithmetic may have before the value is rounded to the dtype. So many
    # of the dtype's own round-offs would hide columns that are missing in the sum: a tenth of them
    # changes every value by 0.1, and bfloat16 numbers about 10 have steps of 0.06.
    tolerance = FAST_EXP + RTOL_ROUNDOFFS * UNIT_ROUNDOFF[torch.float32] * reference.abs()
    tolerance += 2 * u * reference.abs() if truncates else 0
    low, high = ((reference + t).to(dtype).double() for t in (-tolerance, tolerance))
    error = (y - reference).abs()
    allowed = torch.where(y < reference, reference - low.clamp(min=-largest), high - reference)
    relative = error / reference.abs().clamp(min=1.0)
    # An element rounded by u·|y| changes its probability p by p·u·|y|: over a row, u times its
    # entropy.
    entropy = -(reference.exp() * reference).sum(dim=1)
    sum_roundoffs = SUM_ROUNDOFFS * (2 if truncates else 1)
    sum_allowed = sum_roundoffs * u * entropy + FAST_EXP + SMALLEST[dtype]
    return _Bounds(error, allowed, relative, y.exp().sum(dim=1), sum_allowed)


def _wrong_infinity(y: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return where y is infinite and should not be, or is not and should be."""
    tolerance = RTOL_ROUNDOFFS * UNIT_ROUNDOFF[dtype]
    may_overflow = reference < -torch.finfo(dtype).max * (1 - tolerance)
    # -inf comes from an element that is -inf, and only from it, or from a value beyond the dtype
    return torch.where(may_overflow, (reference == -torch.inf) & (y != -torch.inf), y.isinf())


def never(wrong: torch.Tensor, y: torch.Tensor, reference: torch.Tensor, op: str) -> Accuracy:
    """Return the finding for NaN or infinity in the wrong place: beyond any tolerance."""
    row, col = wrong.nonzero()[0].tolist()
    got, want = y[row, col].item(), reference[row, col].item()
    nan = float("nan")
    return Accuracy(nan, nan, nan, f"{got:g} at column {col} where {op} is {want:g}")


def beyond(
    error: torch.Tensor, allowed: torch.Tensor, y: torch.Tensor, reference: torch.Tensor, op: str
) -> str | None:
    """Return None, or the element whose error exceeds its tolerance most; all (rows, N)."""
    if not (error > allowed).any():
        return None
    row, col = divmod((error - allowed).argmax().item(), y.shape[1])
    return (
        f"{y[row, col].item():.7g} at column {col} where {op} is "
        f"{reference[row, col].item():.7g} (allowed difference "
        f"{max(0.0, allowed[row, col].item()):.2g})"
    )


def _judge(bounds: _Bounds, y: torch.Tensor, reference: torch.Tensor, op: str) -> Accuracy:
    sum_error = (bounds.sums - 1).abs()
    found = Accuracy(
        bounds.error.max().item(), bounds.relative.max().item(), sum_error.max().item()
    )
    found.problem = beyond(bounds.error, bounds.allowed, y, reference, op)
    if found.problem is None and (sum_error > bounds.sum_allowed).any():
        row = (sum_error - bounds.sum_allowed).argmax().item()
        found.problem = (
            f"a row sums to {bounds.sums[row].item():.9g}, not to 1 within "
            f"{bounds.sum_allowed[row].item():.2g}"
        )
    return found
