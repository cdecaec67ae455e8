"""Check a call on the inputs of the point, and what it returns."""

import numpy as np
import torch

import operations

from ..clock.base import Call, Inputs
from ..inputs import empty_output, output_like
from .tolerance import Accuracy, check_rows

BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes of an element
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


def check_result(y: object, like: torch.Tensor, out: torch.Tensor | None) -> str | None:
    """Return None, or what is wrong with a returned object, except its values.

    It must have the shape, the dtype and the device of ``like``.
    """
    if not isinstance(y, torch.Tensor):
        return f"returned {type(y).__name__}, not a tensor"
    for what in ("shape", "dtype", "device"):
        got, want = getattr(y, what), getattr(like, what)
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
    pairs = zip(some, others, strict=True)
    return all(torch.equal(*(t.view(BITS[t.element_size()]) for t in pair)) for pair in pairs)


def check_call(
    call: Call, inputs: Inputs, rows: torch.Tensor, op: str = "softmax", truncates: bool = False
) -> Accuracy:
    """Call a variant's ``op`` with and without ``out``; check the given rows of both outputs.

    The call must leave ``inputs`` unchanged; the first is x (M, N), or has its shape. The output
    holds NaN before the call, so an element that the call does not write stays NaN.
    """
    operation = operations.load(op)
    before = operation.rows_of(inputs, rows)
    findings = []
    for give_out in (True, False):
        out = empty_output(op, inputs[0]).fill_(float("nan")) if give_out else None
        y = call(*inputs, out)
        if problem := check_result(y, output_like(op, inputs[0]), out):
            findings.append(Accuracy(problem=problem))
            continue
        findings.append(check_rows(y[rows], before, op, truncates))
        if not same_bits(operation.rows_of(inputs, rows), before):
            findings.append(Accuracy(problem="changed its input"))
        del y, out  # before the next call allocates another output
    return worst(findings)
