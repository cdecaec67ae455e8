"""The gate: is the output a softmax? Against float64, before anything is timed and again after.

Tolerances scale with the dtype and with the row. A fixed absolute tolerance lets a kernel that
returns zeros pass as soon as rows are long, because every true value is then below it.
"""

from dataclasses import asdict, dataclass

import numpy as np
import torch

# Unit round-off: half the distance from 1 to the next number.
UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
# Smallest positive (subnormal) number: a correct result below it has nothing nearer to round to.
SMALLEST = {torch.float32: 2.0**-149, torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133}

FAST_EXP = 4e-6  # relative; kernels may use the hardware's fast exp2 in float32
RTOL_ROUNDOFFS = 8  # relative tolerance of an element, in unit round-offs
ATOL_ROUNDOFFS = 4  # absolute tolerance of an element, in unit round-offs of the row's maximum
SUM_ROUNDOFFS = 1.5  # every element may round the same way, by one unit round-off at most

ELEMENTS_CHECKED = 2**23  # beyond this a sample of rows is checked: 64 MB in float64


@dataclass
class Accuracy:
    """How far an output is from float64, and the first thing wrong with it, if anything is."""

    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    max_row_sum_error: float = 0.0
    problem: str | None = None

    def columns(self) -> dict:
        """The row's accuracy columns."""
        return {key: value for key, value in asdict(self).items() if key != "problem"}


def rows_to_check(rows: int, cols: int, seed: int, device: torch.device) -> torch.Tensor:
    """Indices of all rows, or of the first, the last and random ones between, sorted."""
    room = max(3, ELEMENTS_CHECKED // cols)
    if rows <= room:
        return torch.arange(rows, device=device)
    generator = torch.Generator().manual_seed(seed)
    between = 1 + torch.randperm(rows - 2, generator=generator)[: room - 2]
    ends = torch.tensor([0, rows - 1])
    return torch.cat([ends, between]).sort().values.to(device)


def check_result(y: object, x: torch.Tensor, out: torch.Tensor | None) -> str | None:
    """None, or what is wrong with what the call returned, before its values are looked at."""
    if not isinstance(y, torch.Tensor):
        return f"returned {type(y).__name__}, not a tensor"
    for what in ("shape", "dtype", "device"):
        got, want = getattr(y, what), getattr(x, what)
        if got != want:
            shown = (tuple(got), tuple(want)) if what == "shape" else (got, want)
            return f"returned {what} {shown[0]}, expected {shown[1]}"
    if out is not None and y.data_ptr() != out.data_ptr():
        return "was given out, but returned another tensor"
    return None


def check_values(y: torch.Tensor, x: torch.Tensor) -> Accuracy:
    """Compare rows y with softmax of rows x, both (rows, N) of one dtype, in float64."""
    u, smallest = UNIT_ROUNDOFF[x.dtype], SMALLEST[x.dtype]
    reference = torch.softmax(x.double(), dim=-1)
    y = y.double()

    wrong_nan = y.isnan() != reference.isnan()
    if wrong_nan.any():
        row, col = wrong_nan.nonzero()[0].tolist()
        got, want = y[row, col].item(), reference[row, col].item()
        nan = float("nan")
        return Accuracy(nan, nan, nan, f"{got:g} at column {col} where softmax is {want:g}")

    # Rows that are NaN by definition (all -inf, any +inf or NaN) agree by now: leave them out.
    defined = ~reference.isnan().any(dim=1)
    y, reference = y[defined], reference[defined]
    if y.numel() == 0:
        return Accuracy()

    row_max = reference.amax(dim=1, keepdim=True)
    error = (y - reference).abs()
    allowed = max(RTOL_ROUNDOFFS * u, FAST_EXP) * reference
    allowed += ATOL_ROUNDOFFS * u * row_max + smallest
    sum_error = (y.sum(dim=1) - 1).abs()
    sum_allowed = SUM_ROUNDOFFS * u + FAST_EXP + 0.5 * smallest * y.shape[1]

    # Subnormal numbers have no relative precision to speak of.
    relevant = reference >= (u * row_max).clamp(min=torch.finfo(x.dtype).tiny)
    relative = torch.where(relevant, error / reference, 0.0)
    found = Accuracy(error.max().item(), relative.max().item(), sum_error.max().item())
    if (error > allowed).any():
        worst = (error - allowed).argmax().item()
        row, col = divmod(worst, y.shape[1])
        found.problem = (
            f"{y[row, col].item():.7g} at column {col} where softmax is "
            f"{reference[row, col].item():.7g} (allowed difference {allowed[row, col].item():.2g})"
        )
    elif (sum_error > sum_allowed).any():
        worst = sum_error.argmax().item()
        found.problem = (
            f"a row sums to {y[worst].sum().item():.9g}, not to 1 within {sum_allowed:.2g}"
        )
    return found


def worst(findings: list[Accuracy]) -> Accuracy:
    """Largest errors over several checks, and the first problem."""
    # numpy's maximum keeps a NaN, which Python's max may drop
    return Accuracy(
        float(np.max([f.max_abs_error for f in findings])),
        float(np.max([f.max_rel_error for f in findings])),
        float(np.max([f.max_row_sum_error for f in findings])),
        next((f.problem for f in findings if f.problem), None),
    )


def bits(x: torch.Tensor) -> torch.Tensor:
    """x as integers of the same size: equal even where NaN is not equal to NaN."""
    return x.view(torch.int32 if x.element_size() == 4 else torch.int16)


def check_call(softmax, x: torch.Tensor, rows: torch.Tensor) -> Accuracy:
    """Run a variant on x (M, N) with and without ``out`` and check the given rows of both.

    The output is filled with NaN first, so that an element that is not written is seen; x must
    come out of it unchanged.
    """
    x_rows = x[rows].clone()
    findings = []
    for give_out in (True, False):
        out = torch.full_like(x, float("nan")) if give_out else None
        y = softmax(x, out)
        if problem := check_result(y, x, out):
            findings.append(Accuracy(problem=problem))
            continue
        findings.append(check_values(y[rows], x_rows))
        if not torch.equal(bits(x[rows]), bits(x_rows)):
            findings.append(Accuracy(problem="changed its input"))
        del y, out  # or two results would be held at once
    return worst(findings)
