"""Small matrices beside the point's own, so that being right on that one is not enough.

A kernel that has seen one matrix in one pair of buffers may be right for it alone: for its values,
for rows that touch, for what it kept from an earlier call. So it is given, in one and the same
pair of buffers, rows that lie apart, values far from 0, infinities and NaN. Not seen: a kernel that
looks for just these values.
"""

import torch

from ..clock.base import Call
from ..device.device import Device
from ..point import Point
from . import gate
from .edge_values import GUARD, contents

# Fills outputs: neither a softmax nor its logarithm, seldom a gradient, and, unlike NaN, no signal.
UNTOUCHED = 2.0
ENDS = 8  # rows at either end that are read at once
RACES = 5
BUSY_CYCLES = 2_000_000  # about 1 ms: the host has queued the call long before the GPU gets to it


def check(
    point: Point,
    device: Device,
    call: Call,
    read: tuple[torch.Tensor, ...],
    but: tuple[str, ...] = (),
) -> str | None:
    """None, or which probe the variant's ``call`` fails, and how; ``but`` are names of some.

    ``read``: what it reads at the point itself, matrices (M, N). Whoever takes M rows takes the few
    of a probe too; a call that refuses them raises what it raises.
    """
    probes = contents(point, device.torch_device)
    like = probes[0][2][0]
    rows, cols = like.shape
    size = 2 * GUARD + rows * (cols + GUARD)
    held = [like.new_empty(size) for _ in range(point.reads + 1)]
    for name, gap, values in probes:
        if name in but:
            continue
        if problem := _problem(point, call, held, gap, values):
            return f"{name}: {problem}"
    if not device.is_cpu:
        # Once more behind other work: a kernel on another stream reads what was there before.
        values = tuple(x.flip(1) for x in probes[1][2])
        torch.cuda.synchronize()
        torch.cuda._sleep(BUSY_CYCLES)
        problem = _problem(point, call, held, 0, values) or _unfinished(point, call, read)
        if problem:
            return f"behind other work: {problem}"
    return None


def _unfinished(point: Point, call: Call, read: tuple[torch.Tensor, ...]) -> str | None:
    """What is wrong with rows that are read on the caller's stream right behind the call.

    The host has queued it all before the GPU begins, so nothing but the order of the streams makes
    the reading wait for the call. Several times, since a short call may win such a race.
    """
    out = torch.empty_like(read[0])
    ends = slice(0, ENDS), slice(-ENDS, None)
    for _ in range(RACES):
        out.fill_(UNTOUCHED)
        torch.cuda.synchronize()
        torch.cuda._sleep(BUSY_CYCLES)
        call(*read, out)
        y, *of = (torch.cat([x[rows] for rows in ends]) for x in (out, *read))
        if problem := gate.check_rows(y, tuple(of), point.op).problem:
            return problem
    return None


def _problem(
    point: Point,
    call: Call,
    held: list[torch.Tensor],
    gap: int,
    values: tuple[torch.Tensor, ...],
) -> str | None:
    rows, cols = values[0].shape
    *held_read, held_out = held
    pair = [h.as_strided((rows, cols), (cols + gap, 1), GUARD) for h in held]
    *read, out = pair
    held_out.fill_(UNTOUCHED)
    # .data: without a new _version, by which a kernel could know
    for whole, x, new in zip(held_read, read, values, strict=True):
        whole.data.fill_(torch.nan)
        x.data.copy_(new)
    before = tuple(whole.clone() for whole in held_read)
    result = call(*pair)
    y = out.clone()
    if problem := gate.check_result(result, read[0], out):
        return problem
    if problem := gate.check_rows(y, values, point.op, truncates=point.interpreted).problem:
        return problem
    if not gate.same(tuple(held_read), before):
        return "changed its input"
    out.fill_(UNTOUCHED)
    return None if (held_out == UNTOUCHED).all() else "wrote beyond its rows"
