"""Timing a variant that passed the gate against its controls."""

import contextlib

import torch

from . import columns, gate, graph_clock, inputs, sampling
from .clock import Call, Pair
from .device import Device
from .event_clock import EventClock
from .host_clock import HostClock
from .point import Point

COLD = 3  # the buffers that calls rotate over exceed this many caches …
MOST_PAIRS = 4096  # … unless it takes more pairs than this: each is a node of every graph
PAIRS_CHECKED = 3  # timed pairs that pass the gate again: the first, the last, one between


def pair_count(pair_bytes: int, cache_bytes: int) -> int:
    """Input/output pairs that together exceed three caches; at least 2, at most MOST_PAIRS."""
    return min(MOST_PAIRS, max(2, COLD * cache_bytes // pair_bytes + 1))


def make_pairs(point: Point, device: Device, first: torch.Tensor) -> list[Pair]:
    """Pairs (x, out) to rotate over: ``first`` and others drawn with the seeds that follow."""
    count = pair_count(point.pair_bytes, device.cache_bytes)
    others = [_draw(point, first, index) for index in range(1, count)]
    return [(x, torch.empty_like(x)) for x in (first, *others)]


def time_point(
    point: Point, device: Device, call: Call, rival: Call | None, pairs: list[Pair]
) -> tuple[dict, sampling.Samples]:
    """Columns of the row, and all samples. ``rival``: timed as one more control, if given."""
    clock = _clock(device, call, pairs)
    names = [sampling.VARIANT, sampling.TORCH, sampling.TORCH_AGAIN, sampling.COPY]
    torch_call = control(point.op)
    clock.add(sampling.TORCH, torch_call)
    clock.add(sampling.TORCH_AGAIN, torch_call)
    if rival:
        with contextlib.suppress(graph_clock.NotCapturable):  # its columns stay empty
            clock.add(sampling.RIVAL, rival)
            names.append(sampling.RIVAL)
    row = {"timing": clock.timing}
    if point.pair_bytes <= device.cache_bytes:
        row["warm_us"] = clock.warm_us(sampling.VARIANT)
    telemetry = None
    if not device.is_cpu:
        from .telemetry import Telemetry  # needs NVIDIA's library

        telemetry = Telemetry(device)
        row["latency_us"] = graph_clock.latency_us(call, pairs[0])
    samples = sampling.collect(
        clock,
        names,
        point.interval_width,
        point.time_budget_s,
        point.seed,
        while_busy=telemetry.sample if telemetry else None,
    )
    row |= columns.of_samples(point, samples)
    flags = columns.flags(
        row,
        beyond_cache=point.pair_bytes > device.cache_bytes,
        rotation=len(pairs) * point.pair_bytes / device.cache_bytes,
    )
    if telemetry:
        row |= telemetry.row()
        flags += telemetry.flags()
    # once more on what was timed: outputs of NaN, one more replay
    for _, out in _checked(pairs).values():
        out.fill_(float("nan"))
    clock.replay(sampling.VARIANT)
    return row | {"flags": " ".join(flags)}, samples


def check_timed(point: Point, pairs: list[Pair]) -> gate.Accuracy:
    """The gate once more, on pairs that were timed, against their inputs drawn anew."""
    findings = []
    for index, (x, out) in _checked(pairs).items():
        fresh = _draw(point, x, index)
        rows = gate.rows_to_check(point.M, point.N, point.seed + 1 + index, x.device)
        findings.append(gate.check_values(out[rows], fresh[rows], point.op))
        if not torch.equal(gate.bits(x), gate.bits(fresh)):
            findings.append(gate.Accuracy(problem="changed its input"))
    return gate.worst(findings)


def control(op: str) -> Call:
    """torch's own ``op``, the baseline; here and not in kernels/, as part of how one measures."""
    function = getattr(torch, op)

    def torch_call(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return function(x, dim=-1, out=out)

    return torch_call


def _checked(pairs: list[Pair]) -> dict[int, Pair]:
    chosen = sorted({0, len(pairs) // 2, len(pairs) - 1})[:PAIRS_CHECKED]
    return {index: pairs[index] for index in chosen}


def _draw(point: Point, like: torch.Tensor, index: int) -> torch.Tensor:
    seed = point.seed + index
    return inputs.draw(point.distribution, like.dtype, point.M, point.N, seed, like.device)


def _clock(device: Device, call: Call, pairs: list[Pair]):
    """A clock that holds the variant and the copy."""
    if device.is_cpu:
        clock = HostClock(pairs)
        clock.add(sampling.VARIANT, call)
        clock.add(sampling.COPY, lambda x, out: out.copy_(x))
        return clock
    from . import copy_kernel  # needs Triton

    clock = graph_clock.GraphClock(pairs)
    try:
        clock.add(sampling.VARIANT, call)
    except graph_clock.NotCapturable:
        clock = EventClock(pairs, device.cache_bytes)
        clock.add(sampling.VARIANT, call)
    clock.add_fastest(sampling.COPY, copy_kernel.candidates(pairs[0][0].element_size()))
    return clock
