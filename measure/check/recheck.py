"""Check the very buffers and graphs that were timed, after timing.

A first replay shows what was timed. Then the same graphs run on new inputs, without a sign that the
kernel could see. In the check before timing, outputs of NaN, callers and the order of calls tell a
kernel that it is watched. Here outputs hold what timed blocks leave in them, and calls come from
the timing's own code.
"""

import functools
import random
from collections.abc import Callable

import torch

from ..clock import controls
from ..clock.base import VARIANT, Clock
from ..inputs import SEED_OFFSETS, CallBuffers, draw_at, draw_for
from ..point import Point
from . import correctness
from .edge_cases import UNTOUCHED, other_distribution

BUFFERS_CHECKED = 3  # of those that hold new values
ROUNDS = 3  # one for each way in which rows of the output are stale


def check_timed(point: Point, rotation: list[CallBuffers], clock: Clock) -> correctness.Accuracy:
    """Check what one more replay writes to outputs of NaN: the errors of the row.

    Always of the same buffers, so that the errors do not depend on chance.
    """
    fixed = sorted({0, len(rotation) // 2, len(rotation) - 1})
    for index in fixed:
        rotation[index][-1].fill_(float("nan"))
    clock.replay(VARIANT)
    return correctness.worst([_compare(point, rotation[index], index) for index in fixed])


def check_further(point: Point, rotation: list[CallBuffers], clock: Clock) -> correctness.Accuracy:
    """Check a few rows that one more replay writes, on the host, for a further replicate.

    On a GPU loading the kernels for float64 takes 0.2 s, a sixth of the whole replicate.
    """
    *inputs, out = rotation[0]
    out.fill_(float("nan"))
    clock.replay(VARIANT)
    rows = sorted({0, point.M // 2, point.M - 1})
    few = tuple(x[rows].cpu() for x in inputs)
    return correctness.check_rows(out[rows].cpu(), few, point.op)


def check_others(point: Point, rotation: list[CallBuffers], clock: Clock) -> str | None:
    """Return None, or what is wrong with other values in the timed buffers, which it overwrites.

    New values in all buffers and a replay, then several rounds with the buffers of one call. A
    kernel cannot foresee which buffers these are.
    """
    some = random.SystemRandom().sample(range(len(rotation)), min(len(rotation), BUFFERS_CHECKED))
    # A kernel may cache the results of every buffer except those checked.
    first = SEED_OFFSETS["recheck"]
    for index, (*inputs, _) in enumerate(rotation):
        for x, values in zip(inputs, draw_at(point, inputs[0], first + index), strict=True):
            x.data.copy_(values)  # .data: without a new _version
    clock.replay(VARIANT)
    for index in some:
        if problem := _compare(point, rotation[index], first + index).problem:
            return problem
    which = VARIANT, some[0]
    runs = (functools.partial(run, *which) for run in (clock.replay_on, clock.call_once))
    return check_new_inputs(point, rotation[some[0]], *runs)


def _compare(point: Point, buffers: CallBuffers, number: int) -> correctness.Accuracy:
    """Compare timed buffers with the point's inputs of this number, drawn anew."""
    *inputs, out = buffers
    fresh = draw_at(point, out, number)
    rows = correctness.rows_to_check(point.M, point.N, point.seed + 1 + number, out.device)
    if not correctness.same(tuple(inputs), fresh):
        return correctness.Accuracy(problem="changed its input")
    return correctness.check_rows(out[rows], tuple(x[rows] for x in fresh), point.op)


def check_new_inputs(
    point: Point,
    buffers: CallBuffers,
    again: Callable[[], object],
    once: Callable[[], object],
) -> str | None:
    """Return None, or how the variant is wrong on timed ``buffers`` that hold new values.

    ``again`` runs what was timed, as it was timed, on these buffers at least, and ``once`` a single
    call. Overwrites the buffers, matrices (M, N).

    Before each round all rows of out are right, except some that are copies of x, or of g: every
    other row, the others, then a single one. So a look at a few rows does not show whether there is
    work to do. Values are new in each round. Only the first row stays, so that it does not tell a
    new input from the last one. Then a single element of out is spoilt, of the same input: a kernel
    that knows all of the input again still has to write all of the output.
    """
    *inputs, out = buffers
    baseline, chance = controls.baseline(point.op), random.SystemRandom()
    first_row = None
    for number in range(ROUNDS):
        one = chance.randrange(point.M)
        stale = (slice(0, None, 2), slice(1, None, 2), slice(one, one + 1))[number % 3]
        distribution = (point.distribution, other_distribution(point))[number % 2]
        seed = SEED_OFFSETS["new_inputs"] + point.seed + number
        values = draw_for(point.op, distribution, out.dtype, point.M, point.N, seed, out.device)
        if first_row is not None and point.M > 1:
            for new, kept in zip(values, first_row, strict=True):
                new[0] = kept
        first_row = [new[0].clone() for new in values]
        for x, new in zip(inputs, values, strict=True):
            x.data.copy_(new)  # .data: without a new _version, by which a kernel could know
        baseline(*inputs, out.data)
        out.data[stale].copy_(inputs[0][stale])
        rows = correctness.rows_to_check(point.M, point.N, seed, out.device)
        rows = torch.cat([rows, rows.new_tensor([one])])
        for run in (again, once):
            run()
            of = tuple(x[rows] for x in values)
            problem = correctness.check_rows(out[rows], of, point.op).problem
            if problem is None and not correctness.same(tuple(inputs), values):
                problem = "changed its input"
            if problem:
                return f"other values in timed buffers: {problem}"
            out.data[one, chance.randrange(point.N)] = UNTOUCHED
    return None
