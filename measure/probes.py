"""Small matrices beside the point's own, so that being right on that one is not enough.

A kernel that has seen one matrix in one pair of buffers may be right for it alone: for its values,
for rows that touch, for what it kept from an earlier call. So it is given, in one and the same
pair of buffers, rows that lie apart, values far from 0, infinities and NaN. Not seen: a kernel that
looks for just these values.
"""

import torch

from . import accuracy, gate, inputs
from .clock import Call
from .device import Device
from .point import DISTRIBUTIONS, Point

GUARD = 64  # elements before, after and, where rows lie apart, between them; keeps alignment
UNTOUCHED = 2.0  # fills outputs: neither a softmax nor its logarithm, and, unlike NaN, no signal
LARGE = 1e4  # exp overflows far below it; float16 ends at 65504
SEEDS = 2**32  # beyond the seeds of all timed pairs
ENDS = 8  # rows at either end that are read at once
RACES = 5
BUSY_CYCLES = 2_000_000  # about 1 ms: the host has queued the call long before the GPU gets to it


def row_count(point: Point) -> int:
    """Rows of a probe: few, and like M where a launcher may choose a kernel by it.

    Divisible by 16 (Triton) or by 2 (a warp that takes two rows) as M is, or a kernel would be
    compiled that is not the one timed. On a CPU nothing is compiled by M, and rows cost more.
    """
    like_m = 16 if point.M % 16 == 0 and not point.is_cpu else 4 + point.M % 2
    return min(like_m, max(1, gate.ELEMENTS_CHECKED // point.N))


def other_distribution(point: Point) -> str:
    """The one that the point is not measured with."""
    (other,) = (name for name in DISTRIBUTIONS if name != point.distribution)
    return other


def contents(point: Point, device: torch.device) -> list[tuple[str, int, torch.Tensor]]:
    """(name, gap between rows in elements, rows of shape (row_count, N)) of every probe."""
    rows, seed = row_count(point), SEEDS + point.seed

    def draw(distribution: str, seed: int) -> torch.Tensor:
        return inputs.draw(distribution, torch.float32, rows, point.N, seed, device)

    other = other_distribution(point)
    spread, shifted = draw("uniform", seed + 2) * 2 - 1, draw("normal", seed + 3)
    large = torch.stack([spread * LARGE, shifted + LARGE, shifted - LARGE])
    masked, undefined = draw("normal", seed + 4), draw("normal", seed + 5)
    middle = point.N // 2
    spans = slice(1, None), slice(middle, None), slice(0, middle), slice(0, -1)
    for row in range(rows):  # kinds in turn, plain rows between them
        kind = row % 4
        if point.N > 1:
            masked[row, spans[kind]] = -torch.inf
        if kind == 0:
            undefined[row] = -torch.inf
        elif kind == 2:
            undefined[row, middle] = torch.inf
        elif kind == 3:
            undefined[row, -1] = torch.nan
    probes = [
        ("rows apart", GUARD, draw(point.distribution, seed)),
        (f"{other} values", 0, draw(other, seed + 1)),
        ("large values", 0, large[torch.arange(rows) % 3, torch.arange(rows)]),
        ("rows with -inf", 0, masked),
        ("rows without a softmax", 0, undefined),
    ]
    dtype = getattr(torch, point.dtype)
    return [(name, gap, rows.to(dtype)) for name, gap, rows in probes]


def check(point: Point, device: Device, call: Call, x: torch.Tensor) -> str | None:
    """None, or which probe the variant's ``call`` fails, and how.

    ``x``: the point's own matrix, shape (M, N). Whoever takes M rows takes the few of a probe too;
    a call that refuses them raises what it raises.
    """
    probes = contents(point, device.torch_device)
    rows, cols = probes[0][2].shape
    size = 2 * GUARD + rows * (cols + GUARD)
    held = [torch.empty(size, dtype=probes[0][2].dtype, device=device.torch_device) for _ in "xy"]
    for name, gap, values in probes:
        if problem := _problem(point, call, held, gap, values):
            return f"{name}: {problem}"
    if not device.is_cpu:
        # Once more behind other work: a kernel on another stream reads what was there before.
        values = probes[1][2].flip(1)
        torch.cuda.synchronize()
        torch.cuda._sleep(BUSY_CYCLES)
        problem = _problem(point, call, held, 0, values) or _unfinished(point, call, x)
        if problem:
            return f"behind other work: {problem}"
    return None


def _unfinished(point: Point, call: Call, x: torch.Tensor) -> str | None:
    """What is wrong with rows that are read on the caller's stream right behind the call.

    The host has queued it all before the GPU begins, so nothing but the order of the streams makes
    the reading wait for the call. Several times, since a short call may win such a race.
    """
    out = torch.empty_like(x)
    ends = slice(0, ENDS), slice(-ENDS, None)
    for _ in range(RACES):
        out.fill_(UNTOUCHED)
        torch.cuda.synchronize()
        torch.cuda._sleep(BUSY_CYCLES)
        call(x, out)
        y = torch.cat([out[rows] for rows in ends])
        expected = torch.cat([x[rows] for rows in ends])
        if problem := accuracy.check_values(y, expected, point.op).problem:
            return problem
    return None


def _problem(
    point: Point, call: Call, held: list[torch.Tensor], gap: int, values: torch.Tensor
) -> str | None:
    rows, cols = values.shape
    held_x, held_out = held
    held_x.data.fill_(torch.nan)
    held_out.fill_(UNTOUCHED)
    x, out = (h.as_strided((rows, cols), (cols + gap, 1), GUARD) for h in held)
    x.data.copy_(values)  # .data: without a new _version, by which a kernel could know
    before = held_x.clone()
    result = call(x, out)
    y = out.clone()
    if problem := gate.check_result(result, x, out):
        return problem
    if problem := accuracy.check_values(y, values, point.op, truncates=point.interpreted).problem:
        return problem
    if not torch.equal(gate.bits(held_x), gate.bits(before)):
        return "changed its input"
    out.fill_(UNTOUCHED)
    return None if (held_out == UNTOUCHED).all() else "wrote beyond its rows"
