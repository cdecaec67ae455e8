"""Time a variant that passed the correctness check against its controls."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..device.device import Device
from ..point import Point
from ..stats import derived, sampling
from ..status import Ended
from . import controls, graph
from .base import Audit, Call, CallBuffers, Clock
from .host import HostClock


@dataclass
class Timed:
    """The columns of the row, all samples, and the clock for the check afterwards."""

    columns: dict
    samples: sampling.Samples
    clock: Clock


def time_point(
    point: Point,
    device: Device,
    call: Call,
    rotation: list[CallBuffers],
    audit: Audit | None,
    order_seed: int,
    stage: Callable[[str], None],
) -> Timed:
    """Time ``call`` on ``rotation``, and its controls.

    ``audit`` checks the recorded calls; a CPU needs none. ``stage`` is called with the name of the
    next stage. Raises Ended if a call cannot be recorded in a CUDA graph, and LeftWork.
    """
    stage("recording")
    clock = _clock(point, device, call, rotation, audit)
    names = [sampling.VARIANT, sampling.TORCH, sampling.TORCH_AGAIN, sampling.COPY]
    baseline = controls.baseline(point.op)
    clock.add(sampling.TORCH, baseline)
    clock.add(sampling.TORCH_AGAIN, baseline)
    row = {"timing": clock.timing}
    stage("warm time and latency")
    if point.call_bytes <= device.cache_bytes:
        row["warm_us"] = clock.warm_us(sampling.VARIANT)
    telemetry = None
    if not device.is_cpu:
        from ..device.telemetry import Telemetry  # needs NVIDIA's library

        telemetry = Telemetry(device)
        row["latency_us"] = graph.latency_us(call, rotation[0])
    stage("timing")
    samples = sampling.collect(
        clock,
        names,
        point.blocks,
        random.Random(order_seed),
        while_busy=telemetry.sample if telemetry else None,
    )
    row |= derived.of_samples(point, samples)
    if not device.is_cpu:
        from . import cold  # needs Triton

        row |= cold.evidence(clock, sampling.VARIANT, rotation, point.seed)
    flags = derived.flags(
        row,
        beyond_cache=point.call_bytes > device.cache_bytes,
        rotation=len(rotation) * point.call_bytes / device.cache_bytes,
    )
    if telemetry:
        row |= telemetry.row()
        flags += telemetry.flags()
    return Timed(row | {"flags": " ".join(flags)}, samples, clock)


def _clock(
    point: Point, device: Device, call: Call, rotation: list[CallBuffers], audit: Audit | None
) -> Clock:
    """Return a clock that holds the variant and the copy. Raises Ended."""
    if device.is_cpu:
        clock = HostClock(rotation)
        clock.add(sampling.VARIANT, call)
        clock.add(sampling.COPY, controls.HOST_COPY[point.reads])
        return clock
    from . import copy_kernel  # needs Triton

    clock = graph.GraphClock(rotation)
    try:
        clock.add(sampling.VARIANT, call, audit)
    except graph.NotCapturable as error:
        raise Ended(
            "unsupported",
            "a call cannot be recorded in a CUDA graph, from which it would be timed; it may wait "
            f"for the GPU, or allocate by itself: {error}",
        ) from error
    clock.add_fastest(
        sampling.COPY, copy_kernel.candidates(rotation[0][0].element_size(), point.reads)
    )
    return clock
