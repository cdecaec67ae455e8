"""Check the very buffers and graphs that were timed, after timing.

A first replay shows what was timed. Then the same graphs run on new inputs. In the check before
timing, outputs of NaN, callers and the order of calls tell a kernel that it is watched. Here
outputs hold what timed blocks leave in them, and calls come from the timing's own code.
"""

import random
from dataclasses import replace

import torch

import operations

from ..clock.base import VARIANT, Clock
from ..inputs import SEED_OFFSETS, draw_at, spoil
from ..point import Point
from . import correctness
from .edge_cases import UNTOUCHED, other_distribution

ROUNDS = 3  # one for each way in which rows of the output are stale


def check_timed(point: Point, clock: Clock) -> correctness.Accuracy:
    """Check what one more replay writes to outputs that hold no result: the errors of the row.

    The buffers are always the same, so that the errors do not depend on chance.
    """
    rotation = clock.rotation
    fixed = sorted({0, len(rotation) // 2, len(rotation) - 1})
    for index in fixed:
        spoil(rotation[index][-1])
    clock.replay(VARIANT)
    accuracy = correctness.worst([_compare(point, clock, index) for index in fixed])
    problem = accuracy.problem or check_new_inputs(point, clock)
    return replace(accuracy, problem=problem)


def check_three_rows(point: Point, clock: Clock) -> correctness.Accuracy:
    """Check three rows that one more replay writes, on the host, for a further replicate.

    On a GPU loading the kernels for float64 takes 0.2 s, a sixth of the whole replicate. Slices of
    single rows are copied, because an index of several rows would load another kernel.
    """
    buffers = clock.rotation[0]
    spoil(buffers[-1])
    clock.replay(VARIANT)
    rows = sorted({0, point.M // 2, point.M - 1})
    return correctness.check_copied_rows(
        point.op, buffers, lambda x: torch.stack([x[row].cpu() for row in rows]), torch.Tensor.cpu
    )


def _compare(point: Point, clock: Clock, index: int) -> correctness.Accuracy:
    """Compare timed buffers with the inputs of the point, drawn anew."""
    *inputs, out = clock.rotation[index]
    device = inputs[0].device
    fresh = draw_at(point, device, index)
    rows = correctness.rows_to_check(point.M, point.N, point.seed + 1 + index, device)
    if not correctness.same_bits(tuple(inputs), fresh):
        return correctness.Accuracy(problem="changed its input")
    return correctness.check_copied_rows(point.op, (*fresh, out), lambda x: x[rows])


def check_new_inputs(point: Point, clock: Clock) -> str | None:
    """Return None, or how the variant is wrong on timed buffers that hold new values.

    Each round overwrites the buffers of a call that no kernel can foresee. It runs a replay and the
    call alone, and gives a kernel no sign of work to do:
    - All rows of the outputs are right, except stale ones, copies of an input where one has the
      output's shape: every other row, the others, then one. So a look at a few rows of an output
      does not tell.
    - Values are new, except the first row, which therefore does not tell a new input.
    - Then one element of each output is spoilt, and the inputs stay. A kernel that recognises all
      of them still has to write all of the outputs.
    """
    operation, rng = point.operation, random.SystemRandom()
    count = len(clock.rotation)
    chosen = rng.sample(range(count), min(count, ROUNDS))
    for number in range(ROUNDS):
        index = chosen[number % len(chosen)]
        *inputs, out = clock.rotation[index]
        outputs, device = operations.as_tuple(out), inputs[0].device
        one = rng.randrange(point.M)
        stale = (slice(0, None, 2), slice(1, None, 2), slice(one, one + 1))[number]
        distribution = (point.distribution, other_distribution(point))[number % 2]
        seed = SEED_OFFSETS["new_inputs"] + number
        values = draw_at(replace(point, distribution=distribution), device, seed)
        for operand, x, new in zip(operation.inputs, inputs, values, strict=True):
            if number and point.M > 1 and operand.has_rows:
                new[0] = x[0]
            x.data.copy_(new)  # .data: without a new _version, by which a kernel could know
        operation.baseline(*inputs, operations.as_out(tuple(y.data for y in outputs)))
        for y in outputs:
            alike = [x for x in inputs if (x.shape, x.dtype) == (y.shape, y.dtype)]
            if alike:
                y.data[stale].copy_(alike[0][stale])
            else:
                y.data[stale].fill_(UNTOUCHED)
        rows = correctness.rows_to_check(point.M, point.N, point.seed + seed, device)
        rows = torch.cat([rows, rows.new_tensor([one])])

        def copy_rows(x: torch.Tensor, rows=rows) -> torch.Tensor:
            return x[rows]

        for run in (clock.replay, lambda name, index=index: clock.call_once(name, index)):
            run(VARIANT)
            accuracy = correctness.check_copied_rows(point.op, (*values, out), copy_rows)
            problem = accuracy.problem
            if problem is None and not correctness.same_bits(tuple(inputs), values):
                problem = "changed its input"
            if problem:
                return f"other values in timed buffers: {problem}"
            for y in outputs:
                y.data[one].view(-1)[rng.randrange(y[one].numel())] = UNTOUCHED
    return None
