"""Check a call on the inputs of the point: the values, and the kind of tensors that it returns."""

from collections.abc import Callable

import torch

import operations

from ..clock.base import Call, CallBuffers, Inputs, Out, tensors_of
from ..inputs import empty_out, out_like, spoil
from .tolerance import Accuracy, check_rows, worst

BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # itemsize -> integers of that size
ELEMENTS_CHECKED = 2**23  # 64 MB in float64; of larger matrices a sample of rows is checked


def rows_to_check(rows: int, cols: int, seed: int, device: torch.device) -> torch.Tensor:
    """Return sorted indices of rows: all, or the first, the last and random rows between them."""
    room = max(3, ELEMENTS_CHECKED // cols)
    if rows <= room:
        return torch.arange(rows, device=device)
    generator = torch.Generator().manual_seed(seed)
    between = 1 + torch.randperm(rows - 2, generator=generator)[: room - 2]
    ends = torch.tensor([0, rows - 1])
    return torch.cat([ends, between]).sort().values.to(device)


def check_result(result: object, like: Out, out: Out | None) -> str | None:
    """Return what is wrong with a returned object, apart from its values, or None.

    Its tensors must have the shapes, dtypes and devices of those in ``like``, and be those of
    ``out`` if that was given.
    """
    if type(like) is not tuple:
        return _wrong_tensor(result, like, out)
    if type(result) is not tuple or len(result) != len(like):
        count = f" of {len(result)}" if type(result) is tuple else ""
        return f"returned {type(result).__name__}{count}, not a tuple of {len(like)} tensors"
    written = out or (None,) * len(like)
    problems = map(_wrong_tensor, result, like, written)
    numbered = ((number, problem) for number, problem in enumerate(problems, 1) if problem)
    return next((f"output {number}: {problem}" for number, problem in numbered), None)


def _wrong_tensor(y: object, like: torch.Tensor, out: torch.Tensor | None) -> str | None:
    if not isinstance(y, torch.Tensor):
        return f"returned {type(y).__name__}, not a tensor"
    for attribute in ("shape", "dtype", "device"):
        got, want = getattr(y, attribute), getattr(like, attribute)
        if got != want:
            shown = (tuple(got), tuple(want)) if attribute == "shape" else (got, want)
            return f"returned {attribute} {shown[0]}, expected {shown[1]}"
    if out is not None and y.data_ptr() != out.data_ptr():
        return "was given out, but returned another tensor"
    return None


def same_bits(left: Inputs, right: Inputs) -> bool:
    """Return whether two tuples of tensors are bitwise equal; so NaNs may be equal."""
    pairs = zip(left, right, strict=True)
    return all(torch.equal(*(t.view(BITS[t.element_size()]) for t in pair)) for pair in pairs)


def check_call(
    call: Call, inputs: Inputs, rows: torch.Tensor, op: str, truncates: bool = False
) -> Accuracy:
    """Call a variant's ``op`` with and without ``out``; check the given rows of both results.

    The call must not change ``inputs``. ``out`` holds NaN before the call, so an element that the
    call does not write stays NaN.
    """
    operation = operations.load(op)

    def copy_rows(x: torch.Tensor) -> torch.Tensor:
        return x[rows]

    before = operations.rows_of(operation.inputs, inputs, copy_rows)
    findings = []
    for give_out in (True, False):
        out = spoil(empty_out(op, inputs)) if give_out else None
        result = call(*inputs, out)
        if problem := check_result(result, out_like(op, inputs), out):
            findings.append(Accuracy(problem=problem))
            continue
        outputs = operations.as_tuple(result)
        written = operations.rows_of(operation.outputs, outputs, copy_rows)
        findings.append(check_rows(written, before, op, truncates))
        if not same_bits(operations.rows_of(operation.inputs, inputs, copy_rows), before):
            findings.append(Accuracy(problem="changed its input"))
        del result, outputs, out  # frees memory for the outputs of the next call
    return worst(findings)


def check_copied_rows(
    op: str, buffers: CallBuffers, copy_rows: Callable, copy_whole: Callable = torch.clone
) -> Accuracy:
    """Check the rows of a call that ``copy_rows`` selects from its inputs and outputs."""
    operands, count = operations.load(op).operands, len(operations.load(op).inputs)
    copied = operations.rows_of(operands, tensors_of(buffers), copy_rows, copy_whole)
    return check_rows(copied[count:], copied[:count], op)
