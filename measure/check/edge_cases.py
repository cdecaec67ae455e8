"""Check a call on other values than the point's, in small matrices.

A kernel may be right only for the values of the point, for contiguous rows, or because it returns
cached results. So it is called with other matrices, all in one set of buffers. A kernel that
recognises these very values is not detected. Ordinary values are random numbers of both
distributions, also in padded rows and behind other work on the GPU. Special values are far from 0,
infinite or NaN.
"""

import itertools

import torch

from ..clock.base import Call, Inputs
from ..device.opened import Device
from ..inputs import SEED_OFFSETS, draw, forward
from ..point import DISTRIBUTIONS, Point
from . import correctness

ORDINARY = 2  # the first cases; the others are special
# Outputs hold it before a call. It is no result of a (log-)softmax, and unlike NaN it does not tell
# the kernel that it is checked.
UNTOUCHED = 2.0
END_ROWS = 8  # rows at either end of the output that are read right behind the call
RACE_ROUNDS = 5
BUSY_CYCLES = 2_000_000  # about 1 ms, in which the host queues the call
GUARD = 64  # elements before, after and, in padded matrices, between rows; keeps alignment
LARGE = 1e4  # exp overflows far below it; float16 ends at 65504


def check(
    point: Point, device: Device, call: Call, inputs: Inputs
) -> tuple[str | None, str | None]:
    """Return what is wrong on ordinary values, and what on special values; None if nothing is.

    Special values are tried only if ordinary values pass. ``inputs``: those of the point itself,
    matrices (M, N). Edge cases have fewer rows than M, which every variant must accept.
    """
    cases = draw_cases(point, device.torch_device)
    like = cases[0][2][0]
    rows, cols = like.shape
    size = 2 * GUARD + rows * (cols + GUARD)
    storage = [like.new_empty(size) for _ in range(point.reads + 1)]

    def first_problem(some: list[tuple]) -> str | None:
        problems = ((name, _problem(point, call, storage, gap, x)) for name, gap, x in some)
        return next((f"{name}: {problem}" for name, problem in problems if problem), None)

    ordinary = first_problem(cases[:ORDINARY])
    if ordinary is None and not device.is_cpu:
        # Behind other work, a kernel on another stream would read the buffers too early.
        values = tuple(x.flip(1) for x in cases[1][2])
        torch.cuda.synchronize()
        torch.cuda._sleep(BUSY_CYCLES)
        problem = _problem(point, call, storage, 0, values) or _unfinished(point, call, inputs)
        ordinary = problem and f"behind other work: {problem}"
    return ordinary, None if ordinary else first_problem(cases[ORDINARY:])


def _unfinished(point: Point, call: Call, inputs: Inputs) -> str | None:
    """Return None, or what is wrong with rows that are read on the caller's stream behind the call.

    The host queues everything before the GPU begins, so only the order of the streams makes the
    reads wait for the call. A short call may end before a read that does not wait, so it repeats.
    """
    out = torch.empty_like(inputs[0])
    ends = slice(0, END_ROWS), slice(-END_ROWS, None)
    for _ in range(RACE_ROUNDS):
        out.fill_(UNTOUCHED)
        torch.cuda.synchronize()
        torch.cuda._sleep(BUSY_CYCLES)
        call(*inputs, out)
        y, *read = (torch.cat([x[rows] for rows in ends]) for x in (out, *inputs))
        if problem := correctness.check_rows(y, tuple(read), point.op).problem:
            return problem
    return None


def _problem(
    point: Point, call: Call, storage: list[torch.Tensor], gap: int, values: Inputs
) -> str | None:
    """Return None, or what is wrong with a call on ``values``, put into ``storage``.

    There are ``gap`` elements between the rows.
    """
    rows, cols = values[0].shape
    *input_storage, out_storage = storage
    *inputs, out = (s.as_strided((rows, cols), (cols + gap, 1), GUARD) for s in storage)
    out_storage.fill_(UNTOUCHED)
    # .data leaves _version as it is: a new one would tell a kernel that the values are new
    for whole, x, new in zip(input_storage, inputs, values, strict=True):
        # A kernel that reads between the rows gets NaN, or a number above all others of the row.
        whole.data.fill_(torch.nan)
        whole.data[::2] = LARGE
        x.data.copy_(new)
    before = tuple(whole.clone() for whole in input_storage)
    result = call(*inputs, out)
    y = out.clone()
    if problem := correctness.check_result(result, inputs[0], out):
        return problem
    if problem := correctness.check_rows(y, values, point.op, truncates=point.interpreted).problem:
        return problem
    if not correctness.same_bits(tuple(input_storage), before):
        return "changed its input"
    out.fill_(UNTOUCHED)
    return None if (out_storage == UNTOUCHED).all() else "wrote beyond its rows"


def row_count(point: Point) -> int:
    """Return the rows of an edge case: few, and divisible by 16 or by 2 if M is.

    So the kernel that is timed is called: Triton compiles another one for a multiple of 16, and a
    warp may take two rows if M is even. On a CPU nothing is compiled for M.
    """
    like_m = 16 if point.M % 16 == 0 and not point.is_cpu else 4 + point.M % 2
    return min(like_m, max(1, correctness.ELEMENTS_CHECKED // point.N))


def other_distribution(point: Point) -> str:
    return next(name for name in DISTRIBUTIONS if name != point.distribution)


def draw_cases(point: Point, device: torch.device) -> list[tuple[str, int, Inputs]]:
    """Return (name, gap between rows in elements, inputs) of every edge case.

    The inputs are matrices of shape (row_count, N). Gradients are normal, but large where x is, and
    not finite where x has no softmax.
    """
    rows, dtype, numbers = row_count(point), getattr(torch, point.dtype), itertools.count()

    def random(distribution: str) -> torch.Tensor:
        seed = SEED_OFFSETS["edge_cases"] + point.seed + next(numbers)
        return draw(distribution, torch.float32, rows, point.N, seed, device)

    other = other_distribution(point)
    ordinary, others, spread = (random(name) for name in (point.distribution, other, "uniform"))
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
    cases = [
        ("padded rows", GUARD, ordinary, random("normal")),
        (f"{other} values", 0, others, random("normal")),
        ("large values", 0, large, large.flip(0, 1)),
        ("rows with -inf", 0, masked, random("normal")),
    ]
    if point.reads == 1:
        cases.append(("rows without a softmax", 0, undefined, None))
        return [(name, gap, (x.to(dtype),)) for name, gap, x, _ in cases]
    # Where a single element leaves a row without a softmax, move it from x to the gradient.
    single = ~undefined.isfinite()
    single[::4] = False
    g = torch.where(single, undefined, random("normal"))
    cases.append(("rows without a gradient", 0, undefined.masked_fill(single, 0.0), g))
    return [(name, gap, (g.to(dtype), forward(point.op, x.to(dtype)))) for name, gap, x, g in cases]
