"""Check a call on other values than the point's, in small matrices.

A kernel may be right only for the values of the point, only for contiguous rows, or only because it
returns cached results. So it is called on other matrices, all in one set of buffers. (A kernel that
recognises these very values goes undetected.) Ordinary values are random numbers of both
distributions, also in padded rows and queued behind other work on the GPU. Special values are far
from 0, infinite or NaN. An operation may add its own special rows.
"""

import itertools

import torch

import operations

from ..clock.base import Call, Inputs, tensors_of
from ..device.opened import Device
from ..inputs import SEED_OFFSETS, draw, draw_operand, empty_out, out_like
from ..point import DISTRIBUTIONS, Point
from . import correctness

ORDINARY = 2  # number of ordinary cases, which come first; the others are special
SEPARATOR = "; "  # between the names of special rows, in the columns of a row
# Value of outputs before a call. Hardly any result is exactly 2, and unlike NaN it does not reveal
# to the kernel that it is being checked.
UNTOUCHED = 2.0
END_ROWS = 8  # rows at either end of the output that are read immediately after the call
RACE_ROUNDS = 5
BUSY_CYCLES = 2_000_000  # about 1 ms, enough for the host to queue the call
GUARD = 64  # elements before, after and, in padded matrices, between rows; keeps alignment
LARGE = 1e4  # exp overflows far below; the largest float16 is 65504


def check(
    point: Point, device: Device, call: Call, inputs: Inputs
) -> tuple[str | None, dict[str, str | None]]:
    """Return the problem with ordinary values, and those with special ones by name; None: right.

    Special values are tried only if ordinary ones pass. ``inputs`` are those of the point itself.
    Edge cases have fewer rows than M, which every variant must accept.
    """
    cases = draw_cases(point, device.torch_device)
    first = cases[0][2]
    like = tensors_of((*first, out_like(point.op, first)))
    storage = [x.new_empty(2 * GUARD + x.numel() + len(x) * GUARD) for x in like]

    def problems(cases: list[tuple]) -> dict[str, str | None]:
        return {name: _problem(point, call, storage, gap, x) for name, gap, x in cases}

    ordinary = first_problem(problems(cases[:ORDINARY]))
    if ordinary is None and not device.is_cpu:
        # A kernel on another stream would overtake this work, and read the previous case's values.
        torch.cuda.synchronize()
        torch.cuda._sleep(BUSY_CYCLES)
        problem = _problem(point, call, storage, 0, first) or _unfinished(point, call, inputs)
        ordinary = problem and f"behind other work: {problem}"
    return ordinary, {} if ordinary else problems(cases[ORDINARY:])


def first_problem(problems: dict[str, str | None]) -> str | None:
    """Return the first problem, with its name, or None if there is none."""
    return next((f"{name}: {problem}" for name, problem in problems.items() if problem), None)


def columns(special: dict[str, str | None]) -> dict[str, str]:
    """Return the row's columns that name the special rows on which a variant is right or wrong."""
    right = SEPARATOR.join(name for name, problem in special.items() if not problem)
    wrong = SEPARATOR.join(name for name, problem in special.items() if problem)
    return {"special_rows_right": right, "special_rows_wrong": wrong}


def _unfinished(point: Point, call: Call, inputs: Inputs) -> str | None:
    """Return what is wrong with rows that are read right after the call, on its stream, or None.

    The host queues everything before the GPU begins, so only stream order makes the reads wait for
    the call. A short call may still end before a read that does not wait, hence several rounds.
    """
    out = empty_out(point.op, inputs)
    buffers = (*inputs, out)
    for _ in range(RACE_ROUNDS):
        for y in operations.as_tuple(out):
            y.fill_(UNTOUCHED)
        torch.cuda.synchronize()
        torch.cuda._sleep(BUSY_CYCLES)
        call(*buffers)
        if problem := correctness.check_copied_rows(point.op, buffers, _copy_ends).problem:
            return problem
    return None


def _copy_ends(x: torch.Tensor) -> torch.Tensor:
    """Return END_ROWS rows at either end, which may overlap, without waiting for the GPU."""
    return torch.cat([x[:END_ROWS], x[-END_ROWS:]])


def _problem(
    point: Point, call: Call, storage: list[torch.Tensor], gap: int, values: Inputs
) -> str | None:
    """Return what is wrong with a call on ``values``, or None.

    The values are put into ``storage``, with ``gap`` elements between rows.
    """
    like = tensors_of((*values, out_like(point.op, values)))
    placed = [_placed(s, x.shape, gap) for s, x in zip(storage, like, strict=True)]
    inputs, outputs = placed[: len(values)], tuple(placed[len(values) :])
    read, written = storage[: len(values)], storage[len(values) :]
    out = operations.as_out(outputs)
    for whole in written:
        whole.fill_(UNTOUCHED)
    for whole, x, new in zip(read, inputs, values, strict=True):
        _fill_guards(whole)
        x.data.copy_(new)
    before = tuple(whole.clone() for whole in read)
    result = call(*inputs, out)
    results = tuple(y.clone() for y in outputs)
    if problem := correctness.check_result(result, out, out):
        return problem
    accuracy = correctness.check_rows(results, values, point.op, truncates=point.interpreted)
    if accuracy.problem:
        return accuracy.problem
    if not correctness.same_bits(tuple(read), before):
        return "changed its input"
    for y in outputs:
        y.fill_(UNTOUCHED)
    untouched = all((whole == UNTOUCHED).all() for whole in written)
    return None if untouched else "wrote beyond its rows"


def _fill_guards(storage: torch.Tensor) -> None:
    """Fill the storage of an input with what must not be read, before its values are put there.

    A kernel that reads beyond the rows gets NaN, or a number larger than any in the row. Indices
    become 0: an index outside the row could make the kernel read outside of all buffers, and end
    the process by a fault that does not tell why; with column 0 its result is merely wrong.
    """
    # .data keeps _version, whose change would tell a kernel that the values are new
    if storage.is_floating_point():
        storage.data.fill_(torch.nan)
        storage.data[::2] = LARGE
    else:
        storage.data.fill_(0)


def _placed(storage: torch.Tensor, shape: torch.Size, gap: int) -> torch.Tensor:
    """Return a tensor in the storage, after GUARD elements; a matrix has gaps between its rows."""
    strides = (shape[1] + gap, 1) if len(shape) == 2 else (1,)
    return storage.as_strided(shape, strides, GUARD)


def row_count(point: Point) -> int:
    """Return the number of rows of an edge case: few, and divisible by 16 or by 2 if M is.

    So the kernel that is checked is the one that is timed: Triton compiles another one if M is a
    multiple of 16, and a warp may take two rows if M is even. On a CPU nothing depends on M.
    """
    like_m = 16 if point.M % 16 == 0 and not point.is_cpu else 4 + point.M % 2
    return min(like_m, max(1, correctness.ELEMENTS_CHECKED // point.N))


def other_distribution(point: Point) -> str:
    return next(name for name in DISTRIBUTIONS if name != point.distribution)


def draw_cases(point: Point, device: torch.device) -> list[tuple[str, int, Inputs]]:
    """Return (name, gap between rows in elements, inputs) of every edge case.

    Each is made from a matrix (row_count, N). Other operands are drawn like those of the point, but
    with large values in x, other matrices have large values, too.
    """
    rows, dtype, numbers = row_count(point), getattr(torch, point.dtype), itertools.count()

    def next_seed() -> int:
        return SEED_OFFSETS["edge_cases"] + point.seed + next(numbers)

    def draw_other(operand: operations.Operand) -> torch.Tensor:
        return draw_operand(operand, dtype, rows, point.N, next_seed(), device)

    def random(distribution: str) -> torch.Tensor:
        return draw(distribution, torch.float32, (rows, point.N), next_seed(), device)

    unlike_name = other_distribution(point)
    ordinary, unlike, spread = map(random, (point.distribution, unlike_name, "uniform"))
    shifted, masked, undefined = (random("normal") for _ in range(3))
    kinds = torch.stack([LARGE * (spread * 2 - 1), shifted + LARGE, shifted - LARGE])
    large = kinds[torch.arange(rows) % 3, torch.arange(rows)]
    middle = point.N // 2
    spans = slice(1, None), slice(middle, None), slice(0, middle), slice(0, -1)
    for row in range(rows):  # the four kinds of masks in turn
        if point.N > 1:
            masked[row, spans[row % 4]] = -torch.inf
    undefined[0::4] = -torch.inf
    undefined[2::4, middle] = torch.inf
    undefined[3::4, -1] = torch.nan
    operation = point.operation

    def large_too(operand: operations.Operand) -> torch.Tensor:
        drawn = draw_other(operand)
        return large.flip(0, 1).to(drawn.dtype) if operand.is_matrix else drawn

    cases = [
        ("padded rows", GUARD, ordinary, draw_other),
        (f"{unlike_name} values", 0, unlike, draw_other),
        ("large values", 0, large, large_too),
        ("rows with -inf", 0, masked, draw_other),
    ]
    drawn = [(name, gap, operation.inputs_of(x.to(dtype), d)) for name, gap, x, d in cases]
    name, undefined = "rows without a result", undefined.to(dtype)
    if operation.undefined:
        name, inputs = operation.undefined(undefined, draw_other)
    else:
        inputs = operation.inputs_of(undefined, draw_other)
    drawn.append((name, 0, inputs))
    if operation.special_rows:
        own = operation.special_rows(random("normal").to(dtype), draw_other)
        drawn += [(name, 0, inputs) for name, inputs in own.items()]
    return drawn
