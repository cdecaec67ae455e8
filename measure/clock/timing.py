"""Time a variant that passed the correctness check against its controls."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..device.device import Device
from ..point import Point
from ..stats import derived, sampling
from ..status import Ended
from . import controls, graph
from .base import Call, CallBuffers, Clock
from .host import HostClock


@dataclass
class Timed:
    """The columns and flags of the row, all samples, and the clock for the check afterwards."""

    columns: dict
    flags: list[str]
    samples: sampling.Samples
    clock: Clock


def time_point(
    point: Point,
    device: Device,
    call: Call,
    rotation: list[CallBuffers],
    order: random.Random,
    stage: Callable[[str], None],
    blocks_only: bool,
) -> Timed:
    """Time ``call`` on ``rotation``, and its controls.

    ``order`` shuffles series and graphs. ``stage`` is called with the name of the next stage. With
    ``blocks_only`` neither warm time, latency nor the cache is looked at. Raises Ended if a call
    cannot be recorded in a CUDA graph, or if a graph leaves out work.
    """
    stage("recording the variant")
    clock = HostClock(rotation) if device.is_cpu else graph.GraphClock(rotation, order)
    found = _recorded(clock, call)
    stage("recording the controls")
    _add_controls(clock, point, device)
    row, telemetry = {"timing": clock.timing}, None
    if not device.is_cpu:
        from ..device.telemetry import Telemetry  # needs NVIDIA's library

        telemetry = Telemetry(device)
    if not blocks_only:
        stage("warm time and latency")
        if point.call_bytes <= device.cache_bytes:
            row["warm_us"] = clock.warm_us(sampling.VARIANT)
        if not device.is_cpu:
            row["latency_us"] = graph.latency_us(call, rotation[0])
    stage("timing")
    names = [sampling.VARIANT, sampling.TORCH, sampling.TORCH_AGAIN, sampling.COPY]
    while_busy = telemetry.sample if telemetry else None
    samples = sampling.collect(clock, names, point.blocks, order, while_busy)
    row |= derived.of_samples(point, samples)
    if not (blocks_only or device.is_cpu):
        from . import cold  # needs Triton

        stage("cold loads")
        row |= cold.evidence(clock, sampling.VARIANT, rotation, point.seed)
    found += derived.flags(
        row,
        beyond_cache=point.call_bytes > device.cache_bytes,
        rotation=len(rotation) * point.call_bytes / device.cache_bytes,
    )
    if telemetry:
        row |= telemetry.row()
        found += telemetry.flags()
    return Timed(row, found, samples, clock)


def _recorded(clock: Clock, call: Call) -> list[str]:
    """Record the variant and compare its calls; return flags. Raises Ended."""
    try:
        clock.add(sampling.VARIANT, call)
        problem, overlaps = clock.compared(sampling.VARIANT)
    except graph.LeftWork as error:
        raise Ended("incorrect", f"recording: {error}") from error
    except graph.NotCapturable as error:
        raise Ended(
            "unsupported",
            "a call cannot be recorded in a CUDA graph, from which it would be timed; it may wait "
            f"for the GPU, or allocate by itself: {error}",
        ) from error
    if problem:
        raise Ended("incorrect", f"recording: {problem}")
    return ["overlaps_calls"] if overlaps else []


def _add_controls(clock: Clock, point: Point, device: Device) -> None:
    """Make the copy, and torch's own operation twice, series of the clock."""
    if device.is_cpu:
        clock.add(sampling.COPY, controls.HOST_COPY[point.reads])
    else:
        from . import copy_kernel  # needs Triton

        itemsize = clock.rotation[0][0].element_size()
        clock.add_fastest(sampling.COPY, copy_kernel.candidates(itemsize, point.reads))
    for name in (sampling.TORCH, sampling.TORCH_AGAIN):
        clock.add(name, controls.baseline(point.op))
