"""Check the very buffers and graphs that were timed, after timing.

A first replay shows what was timed. Then the same graphs run on new inputs. In the check before
timing, outputs of NaN, callers and the order of calls tell a kernel that it is watched. Here
outputs hold what timed blocks leave in them, and calls come from the timing's own code.
"""

import random
from dataclasses import replace

import torch

from ..clock.base import VARIANT, Clock
from ..inputs import SEED_OFFSETS, draw_at
from ..point import Point
from . import correctness
from .edge_cases import UNTOUCHED, other_distribution

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
    found = correctness.worst([_compare(point, clock, index) for index in fixed])
    return found if found.problem else replace(found, problem=check_new_inputs(point, clock))


def check_three_rows(point: Point, clock: Clock) -> correctness.Accuracy:
    """Check three rows that one more replay writes, on the host, for a further replicate.

    On a GPU loading the kernels for float64 takes 0.2 s, a sixth of the whole replicate. Slices of
    single rows are copied, because an index of several rows would load another kernel.
    """
    buffers = clock.rotation[0]
    buffers[-1].fill_(float("nan"))
    clock.replay(VARIANT)
    rows = sorted({0, point.M // 2, point.M - 1})
    operands = (*point.operation.inputs, point.operation.output)
    *inputs, y = (
        torch.stack([x[row].cpu() for row in rows]) if operand.has_rows else x.cpu()
        for operand, x in zip(operands, buffers, strict=True)
    )
    return correctness.check_rows(y, tuple(inputs), point.op)


def _compare(point: Point, clock: Clock, index: int) -> correctness.Accuracy:
    """Compare timed buffers with the inputs of the point, drawn anew."""
    *inputs, out = clock.rotation[index]
    fresh = draw_at(point, out.device, index)
    rows = correctness.rows_to_check(point.M, point.N, point.seed + 1 + index, out.device)
    if not correctness.same_bits(tuple(inputs), fresh):
        return correctness.Accuracy(problem="changed its input")
    return correctness.check_rows(out[rows], point.operation.rows_of(fresh, rows), point.op)


def check_new_inputs(point: Point, clock: Clock) -> str | None:
    """Return None, or how the variant is wrong on timed buffers that hold new values.

    Each round overwrites the buffers of a call that no kernel can foresee. It runs a replay and the
    call alone, and gives a kernel no sign of work to do:
    - All rows of out are right, except stale ones, copies of x or of g: every other row, the
      others, then one. So a look at a few rows of out does not tell.
    - Values are new, except the first row, which therefore does not tell a new input.
    - Then one element of out is spoilt, and the input stays. A kernel that recognises all of the
      input still has to write all of the output.
    """
    operation, rng = point.operation, random.SystemRandom()
    count = len(clock.rotation)
    chosen = rng.sample(range(count), min(count, ROUNDS))
    for number in range(ROUNDS):
        index = chosen[number % len(chosen)]
        *inputs, out = clock.rotation[index]
        one = rng.randrange(point.M)
        stale = (slice(0, None, 2), slice(1, None, 2), slice(one, one + 1))[number]
        distribution = (point.distribution, other_distribution(point))[number % 2]
        seed = SEED_OFFSETS["new_inputs"] + number
        values = draw_at(replace(point, distribution=distribution), out.device, seed)
        for operand, x, new in zip(operation.inputs, inputs, values, strict=True):
            if number and point.M > 1 and operand.has_rows:
                new[0] = x[0]
            x.data.copy_(new)  # .data: without a new _version, by which a kernel could know
        operation.baseline(*inputs, out.data)
        if out.shape == inputs[0].shape:
            out.data[stale].copy_(inputs[0][stale])
        else:
            out.data[stale].fill_(UNTOUCHED)
        rows = correctness.rows_to_check(point.M, point.N, point.seed + seed, out.device)
        rows = torch.cat([rows, rows.new_tensor([one])])
        few = operation.rows_of(values, rows)
        for run in (clock.replay, lambda name, index=index: clock.call_once(name, index)):
            run(VARIANT)
            problem = correctness.check_rows(out[rows], few, point.op).problem
            if problem is None and not correctness.same_bits(tuple(inputs), values):
                problem = "changed its input"
            if problem:
                return f"other values in timed buffers: {problem}"
            out.data[one].view(-1)[rng.randrange(out[one].numel())] = UNTOUCHED
    return None
