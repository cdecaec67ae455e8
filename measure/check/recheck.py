"""Check, after timing, the very buffers and graphs that were timed.

A first replay shows what was timed; then the same graphs run on new inputs. The check before timing
can be recognised, by outputs full of NaN, by the callers and by the order of calls. Here outputs
hold what timed calls leave in them, and the calls come from the code that times them.
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

ROUNDS = 3  # one for each choice of the rows of the output that are stale


def check_timed(point: Point, clock: Clock) -> correctness.Accuracy:
    """Check what one more replay writes to outputs that hold no result; return the row's errors.

    The buffers are always the same, so that the errors do not depend on chance. Then come new
    inputs.
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

    On a GPU, loading the float64 kernels would take 0.2 s, a sixth of the whole replicate. Rows are
    copied one by one, because indexing several rows would load another kernel.
    """
    buffers = clock.rotation[0]
    spoil(buffers[-1])
    clock.replay(VARIANT)
    rows = sorted({0, point.M // 2, point.M - 1})
    return correctness.check_copied_rows(
        point.op, buffers, lambda x: torch.stack([x[row].cpu() for row in rows]), torch.Tensor.cpu
    )


def _compare(point: Point, clock: Clock, index: int) -> correctness.Accuracy:
    """Check the timed buffers at an index against the point's inputs, which are drawn again."""
    *inputs, out = clock.rotation[index]
    device = inputs[0].device
    fresh = draw_at(point, device, index)
    rows = correctness.rows_to_check(point.M, point.N, point.seed + 1 + index, device)
    if not correctness.same_bits(tuple(inputs), fresh):
        return correctness.Accuracy(problem="changed its input")
    return correctness.check_copied_rows(point.op, (*fresh, out), lambda x: x[rows])


def check_new_inputs(point: Point, clock: Clock) -> str | None:
    """Return how the variant is wrong on timed buffers that hold new values, or None.

    Each round overwrites the buffers of a call that no kernel can predict, and runs a replay and
    the call alone. Nothing about the buffers tells a kernel whether it has work to do:
    - The outputs are right except in stale rows, which are copies of an input if one has the
      output's shape: the even rows, then the odd ones, then one. So looking at a few rows of an
      output reveals nothing.
    - The inputs are new, except for the first row, which therefore reveals nothing, either.
    - After the replay one element of each output is spoilt, while the inputs stay. A kernel that
      recognises all inputs still has to write all outputs.
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
            x.data.copy_(new)  # .data keeps _version, by which a kernel could tell
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
