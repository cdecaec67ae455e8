"""Check a call on the inputs of the point, and what it returns."""

import numpy as np
import torch

from ..clock.base import Call, Inputs
from .tolerance import Accuracy, check_rows

ELEMENTS_CHECKED = 2**23  # of larger matrices a sample of rows is checked: 64 MB in float64


def rows_to_check(rows: int, cols: int, seed: int, device: torch.device) -> torch.Tensor:
    """Return sorted indices of rows: all, or the first, the last and random rows between them."""
    room = max(3, ELEMENTS_CHECKED // cols)
    if rows <= room:
        return torch.arange(rows, device=device)
    generator = torch.Generator().manual_seed(seed)
    between = 1 + torch.randperm(rows - 2, generator=generator)[: room - 2]
    ends = torch.tensor([0, rows - 1])
    return torch.cat([ends, between]).sort().values.to(device)


def check_result(y: object, x: torch.Tensor, out: torch.Tensor | None) -> str | None:
    """Return None, or what is wrong with a returned object, except its values."""
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


def worst(findings: list[Accuracy]) -> Accuracy:
    """Merge several checks: the largest errors, and the first problem."""
    names = findings[0].columns()
    # numpy's maximum keeps a NaN, which Python's max may drop
    errors = {name: float(np.max([getattr(f, name) for f in findings])) for name in names}
    return Accuracy(**errors, problem=next((f.problem for f in findings if f.problem), None))


def same_bits(some: Inputs, others: Inputs) -> bool:
    """Return whether the matrices are equal one by one, bit by bit; NaNs may be."""
    bits = torch.int32 if some[0].element_size() == 4 else torch.int16
    pairs = zip(some, others, strict=True)
    return all(torch.equal(a.view(bits), b.view(bits)) for a, b in pairs)


def check_call(
    call: Call, inputs: Inputs, rows: torch.Tensor, op: str = "softmax", truncates: bool = False
) -> Accuracy:
    """Call a variant's ``op`` with and without ``out``; check the given rows of both outputs.

    ``inputs`` are matrices (M, N), which the call must leave unchanged. The output holds NaN before
    the call, so an element that the call does not write stays NaN.
    """
    before = tuple(x[rows] for x in inputs)  # copies
    findings = []
    for give_out in (True, False):
        out = torch.full_like(inputs[0], float("nan")) if give_out else None
        y = call(*inputs, out)
        if problem := check_result(y, inputs[0], out):
            findings.append(Accuracy(problem=problem))
            continue
        findings.append(check_rows(y[rows], before, op, truncates))
        if not same_bits(tuple(x[rows] for x in inputs), before):
            findings.append(Accuracy(problem="changed its input"))
        del y, out  # before the next call allocates another output
    return worst(findings)
