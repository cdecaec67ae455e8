"""Timing a variant that passed the gate against its controls."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..device.device import Device
from ..point import Point
from ..stats import derived, sampling
from ..status import Ended
from . import baseline, graph
from .base import Call, Clock, Pair
from .host import HostClock

# By how many matrices a call reads: as copy_kernel does on a GPU.
HOST_COPY = {
    1: lambda x, out: out.copy_(x),
    2: lambda g, y, out: torch.add(g, y, out=out),
}


@dataclass
class Timed:
    """What timing leaves: columns of the row, all samples, and the clock for a look afterwards."""

    columns: dict
    samples: sampling.Samples
    clock: Clock


def time_point(
    point: Point,
    device: Device,
    call: Call,
    rival: Call | None,
    pairs: list[Pair],
    stage: Callable[[str], None],
) -> Timed:
    """Time ``call`` on ``pairs``; ``rival``, if given, is timed as one more control.

    ``stage`` is told what comes next. Raises Ended where a call cannot be recorded in a CUDA graph.
    """
    stage("recording")
    clock = _clock(point, device, call, pairs)
    names = [sampling.VARIANT, sampling.TORCH, sampling.TORCH_AGAIN, sampling.COPY]
    torch_call = baseline.control(point.op)
    clock.add(sampling.TORCH, torch_call)
    clock.add(sampling.TORCH_AGAIN, torch_call)
    if rival:
        # its columns stay empty
        with contextlib.suppress(graph.NotCapturable, graph.LeftWork):
            clock.add(sampling.RIVAL, rival)
            names.append(sampling.RIVAL)
    row = {"timing": clock.timing}
    stage("warm time and latency")
    if point.pair_bytes <= device.cache_bytes:
        row["warm_us"] = clock.warm_us(sampling.VARIANT)
    telemetry = None
    if not device.is_cpu:
        from ..device.telemetry import Telemetry  # needs NVIDIA's library

        telemetry = Telemetry(device)
        row["latency_us"] = graph.latency_us(call, pairs[0])
    stage("timing")
    samples = sampling.collect(
        clock,
        names,
        point.interval_width,
        point.time_budget_s,
        point.seed,
        while_busy=telemetry.sample if telemetry else None,
    )
    row |= derived.of_samples(point, samples)
    if not device.is_cpu:
        from . import cold  # needs Triton

        row |= cold.evidence(clock, sampling.VARIANT, pairs, point.seed)
    flags = derived.flags(
        row,
        beyond_cache=point.pair_bytes > device.cache_bytes,
        rotation=len(pairs) * point.pair_bytes / device.cache_bytes,
    )
    if telemetry:
        row |= telemetry.row()
        flags += telemetry.flags()
    return Timed(row | {"flags": " ".join(flags)}, samples, clock)


def _clock(point: Point, device: Device, call: Call, pairs: list[Pair]) -> Clock:
    """Return a clock that holds the variant and the copy. Raises Ended."""
    if device.is_cpu:
        clock = HostClock(pairs)
        clock.add(sampling.VARIANT, call)
        clock.add(sampling.COPY, HOST_COPY[point.reads])
        return clock
    from ..check.graph_audit import Audit
    from . import copy_kernel  # these need Triton

    clock = graph.GraphClock(pairs)
    try:
        clock.add(sampling.VARIANT, call, Audit(pairs[0][-1], point.op))
    except graph.NotCapturable as error:
        raise Ended(
            "unsupported",
            "a call cannot be recorded in a CUDA graph, from which all are timed; it may wait for "
            f"the GPU, or allocate by itself: {error}",
        ) from error
    clock.add_fastest(
        sampling.COPY, copy_kernel.candidates(pairs[0][0].element_size(), point.reads)
    )
    return clock
