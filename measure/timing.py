"""Timing a variant that passed the gate against its controls."""

from collections.abc import Callable

import torch

import kernels

from . import columns, gate, graph_clock, inputs, sampling
from .device import Device
from .event_clock import EventClock
from .host_clock import HostClock
from .point import Point

COLD = 3  # the buffers that calls rotate over exceed this many caches
PAIRS_CHECKED = 3  # timed pairs that pass the gate again: the first, the last, one between

Call = Callable[[torch.Tensor, torch.Tensor], object]


def pair_count(pair_bytes: int, cache_bytes: int) -> int:
    """Input/output pairs that together exceed three caches; at least 2."""
    return max(2, COLD * cache_bytes // pair_bytes + 1)


def make_pairs(point: Point, device: Device, first: torch.Tensor) -> list[tuple]:
    """Pairs (x, out) to rotate over: ``first`` and others drawn with the seeds that follow."""
    count = pair_count(point.pair_bytes, device.cache_bytes)
    others = [
        inputs.draw(point.distribution, first.dtype, point.M, point.N, point.seed + i, first.device)
        for i in range(1, count)
    ]
    return [(x, torch.empty_like(x)) for x in (first, *others)]


def time_point(
    point: Point, device: Device, softmax: Call, pairs: list[tuple]
) -> tuple[dict, sampling.Samples, gate.Accuracy]:
    """Columns of the row, all samples, and how accurate the timed buffers were afterwards."""
    clock, row = _prepare(point, device, softmax, pairs)
    names = [sampling.VARIANT, sampling.TORCH, sampling.TORCH_AGAIN, sampling.COPY]
    names += [sampling.RIVAL] if point.rival else []
    telemetry = None
    if not device.is_cpu:
        from .telemetry import Telemetry  # needs NVIDIA's library

        telemetry = Telemetry(device)
    samples = sampling.collect(
        clock,
        names,
        point.interval_width,
        point.time_budget_s,
        point.seed,
        while_busy=telemetry.sample if telemetry else None,
    )
    row |= columns.of_samples(point, samples)
    flags = columns.flags(row, beyond_cache=point.pair_bytes > device.cache_bytes)
    if telemetry:
        row |= telemetry.row()
        flags += telemetry.flags()
    row["flags"] = " ".join(flags)
    return row, samples, check_timed(clock, pairs, point.seed)


def check_timed(clock, pairs: list[tuple], seed: int) -> gate.Accuracy:
    """The gate once more, on buffers that were timed: one more replay over outputs of NaN."""
    chosen = [pairs[i] for i in sorted({0, len(pairs) // 2, len(pairs) - 1})[:PAIRS_CHECKED]]
    for _, out in chosen:
        out.fill_(float("nan"))
    clock.replay(sampling.VARIANT)
    rows = gate.rows_to_check(*pairs[0][0].shape, seed + 1, pairs[0][0].device)
    return gate.worst([gate.check_values(out[rows], x[rows]) for x, out in chosen])


def _prepare(point: Point, device: Device, softmax: Call, pairs: list[tuple]) -> tuple:
    """A clock that holds the variant and its controls; the row's single-pair times."""
    torch_softmax = kernels.load("torch_softmax").softmax
    row = {}
    if device.is_cpu:
        clock = HostClock(pairs)
        clock.add(sampling.VARIANT, softmax)
        clock.add(sampling.COPY, lambda x, out: out.copy_(x))
    else:
        from . import copy_kernel  # needs Triton

        clock = _gpu_clock(device, softmax, pairs)
        clock.add_fastest(sampling.COPY, copy_kernel.candidates(pairs[0][0].element_size()))
        row["latency_us"] = graph_clock.latency_us(softmax, pairs[0])
    clock.add(sampling.TORCH, torch_softmax)
    clock.add(sampling.TORCH_AGAIN, torch_softmax)
    if point.rival:
        clock.add(sampling.RIVAL, kernels.load(point.rival).softmax)
    if point.pair_bytes <= device.cache_bytes:
        row["warm_us"] = clock.warm_us(sampling.VARIANT)
    return clock, row | {"timing": clock.timing}


def _gpu_clock(device: Device, softmax: Call, pairs: list[tuple]):
    clock = graph_clock.GraphClock(pairs)
    try:
        clock.add(sampling.VARIANT, softmax)
    except graph_clock.NotCapturable:
        clock = EventClock(pairs, device.cache_bytes)
        clock.add(sampling.VARIANT, softmax)
    return clock
