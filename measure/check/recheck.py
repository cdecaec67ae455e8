"""Check the very buffers and graphs that were timed, after timing.

A first replay shows what was timed. Then the same graphs run on new inputs, without a sign that the
kernel could see. In the check before timing, outputs of NaN, callers and the order of calls tell a
kernel that it is watched. Here outputs hold what timed blocks leave in them, and calls come from
the timing's own code.
"""

import random
from dataclasses import replace

import torch

from ..clock import controls
from ..clock.base import VARIANT, Clock
from ..inputs import SEED_OFFSETS, draw_at
from ..point import Point
from . import correctness
from .edge_cases import UNTOUCHED, other_distribution

BUFFERS_CHECKED = 3  # of those that hold new values
ROUNDS = 3  # one for each way in which rows of the output are stale


def check_timed(point: Point, clock: Clock) -> correctness.Accuracy:
    """Check what one more replay writes to outputs of NaN: the errors of the row.

    The buffers are always the same, so that the errors do not depend on chance.
    """
    rotation = clock.rotation
    fixed = sorted({0, len(rotation) // 2, len(rotation) - 1})
    for index in fixed:
        rotation[index][-1].fill_(float("nan"))
    clock.replay(VARIANT)
    return correctness.worst([_compare(point, clock, index, index) for index in fixed])


def check_further(point: Point, clock: Clock) -> correctness.Accuracy:
    """Check three rows that one more replay writes, on the host, for a further replicate.

    On a GPU loading the kernels for float64 takes 0.2 s, a sixth of the whole replicate.
    """
    *inputs, out = clock.rotation[0]
    out.fill_(float("nan"))
    clock.replay(VARIANT)
    rows = sorted({0, point.M // 2, point.M - 1})
    few = tuple(x[rows].cpu() for x in inputs)
    return correctness.check_rows(out[rows].cpu(), few, point.op)


def check_others(point: Point, clock: Clock) -> str | None:
    """Return None, or what is wrong with other values in the timed buffers, which it overwrites.

    New values in all buffers and a replay, then several rounds with the buffers of one call. A
    kernel cannot foresee which buffers these are.
    """
    count = len(clock.rotation)
    chosen = random.SystemRandom().sample(range(count), min(count, BUFFERS_CHECKED))
    # A kernel may cache the results of every buffer except those checked.
    first = SEED_OFFSETS["recheck"]
    for index, (*inputs, out) in enumerate(clock.rotation):
        for x, values in zip(inputs, draw_at(point, out.device, first + index), strict=True):
            x.data.copy_(values)  # .data: without a new _version
    clock.replay(VARIANT)
    for index in chosen:
        if problem := _compare(point, clock, index, first + index).problem:
            return problem
    return check_new_inputs(point, clock, chosen[0])


def _compare(point: Point, clock: Clock, index: int, number: int) -> correctness.Accuracy:
    """Compare timed buffers with the point's inputs of this number, drawn anew."""
    *inputs, out = clock.rotation[index]
    fresh = draw_at(point, out.device, number)
    rows = correctness.rows_to_check(point.M, point.N, point.seed + 1 + number, out.device)
    if not correctness.same(tuple(inputs), fresh):
        return correctness.Accuracy(problem="changed its input")
    return correctness.check_rows(out[rows], tuple(x[rows] for x in fresh), point.op)


def check_new_inputs(point: Point, clock: Clock, index: int) -> str | None:
    """Return None, or how the variant is wrong on timed buffers that hold new values.

    Overwrites the buffers. Each round runs a replay and a single call, and gives a kernel no sign
    of work to do:
    - All rows of out are right, except stale ones, copies of x or of g: every other row, the
      others, then one. So a look at a few rows of out does not tell.
    - Values are new, except the first row. So the first row does not tell a new input.
    - Then one element of out is spoilt, and the input stays. A kernel that recognises all of the
      input still has to write all of the output.
    """
    *inputs, out = clock.rotation[index]
    baseline, chance = controls.baseline(point.op), random.SystemRandom()
    for number in range(ROUNDS):
        one = chance.randrange(point.M)
        stale = (slice(0, None, 2), slice(1, None, 2), slice(one, one + 1))[number]
        distribution = (point.distribution, other_distribution(point))[number % 2]
        seed = SEED_OFFSETS["new_inputs"] + number
        values = draw_at(replace(point, distribution=distribution), out.device, seed)
        for x, new in zip(inputs, values, strict=True):
            if number and point.M > 1:
                new[0] = x[0]
            x.data.copy_(new)  # .data: without a new _version, by which a kernel could know
        baseline(*inputs, out.data)
        out.data[stale].copy_(inputs[0][stale])
        rows = correctness.rows_to_check(point.M, point.N, point.seed + seed, out.device)
        rows = torch.cat([rows, rows.new_tensor([one])])
        few = tuple(x[rows] for x in values)
        for run in (clock.replay, lambda name: clock.call_once(name, index)):
            run(VARIANT)
            problem = correctness.check_rows(out[rows], few, point.op).problem
            if problem is None and not correctness.same(tuple(inputs), values):
                problem = "changed its input"
            if problem:
                return f"other values in timed buffers: {problem}"
            out.data[one, chance.randrange(point.N)] = UNTOUCHED
    return None
