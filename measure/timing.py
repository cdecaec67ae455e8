"""Time a variant that passed the correctness check against its controls."""

import random
from dataclasses import dataclass

from .clock import controls, sampling
from .clock.base import COPY, TORCH, TORCH_AGAIN, VARIANT, Clock, NotCapturable, UnjoinedWork
from .clock.host import HostClock
from .clock.sampling import Sample
from .device.opened import Device
from .errors import Ended
from .inputs import Call, CallBuffers
from .journal import Journal
from .point import Point
from .replicate import FirstReplicate
from .stats import derive_columns, find_flags
from .status import Status

CONTROLS = "recording the controls"  # the stage in which the kernel is not called


@dataclass
class Timed:
    """Hold columns and flags of the row, all samples, and the clock for the check afterwards."""

    columns: dict
    flags: list[str]
    samples: list[Sample]
    clock: Clock


def time_variant(
    point: Point,
    device: Device,
    call: Call,
    rotation: list[CallBuffers],
    journal: Journal,
    known: FirstReplicate | None,
) -> Timed:
    """Time ``call`` and its controls on the buffers of ``rotation``.

    ``known``: of a further replicate, which measures no warm time, latency and cold loads. Raises
    Ended if a call cannot be recorded in a CUDA graph, or if a graph leaves out work.
    """
    order = random.Random(journal.row["order_seed"])  # of series in a block, and of graphs
    journal.stage("recording the variant")
    if device.is_cpu:
        clock = HostClock(rotation)
    else:
        from .clock.graph import GraphClock  # needs Triton and cuda.bindings
        from .device.telemetry import Telemetry  # needs NVIDIA's library

        clock = GraphClock(rotation, order)
    flags = _record(clock, call)
    journal.stage(CONTROLS)
    row = {"timing": clock.timing} | _add_controls(clock, point, device, known)
    telemetry = None if device.is_cpu else Telemetry(device)
    journal.stage("timing")
    names = [VARIANT, TORCH, TORCH_AGAIN, COPY]
    while_busy = telemetry.sample if telemetry else None
    samples = sampling.time_blocks(clock, names, point.blocks, order, while_busy)
    row |= derive_columns(point, samples)
    if known is None:
        journal.stage("warm time, latency and cold loads")
        if point.call_bytes <= device.cache_bytes:
            row["warm_us"] = clock.warm_us(VARIANT)
        row |= clock.single_call(VARIANT, point.seed)
    flags += find_flags(row, point.call_bytes, len(rotation), device.cache_bytes)
    if telemetry:
        row |= telemetry.row()
        flags += telemetry.flags()
    return Timed(row, flags, samples, clock)


def _record(clock: Clock, call: Call) -> list[str]:
    """Record the variant, and compare the calls in its graphs; return flags. Raises Ended."""
    try:
        clock.add(call, VARIANT)
        problem, overlaps = clock.compare_graph(VARIANT)
    except UnjoinedWork as error:
        raise Ended(Status.INCORRECT, f"recording: {error}") from error
    except NotCapturable as error:
        raise Ended(
            Status.UNSUPPORTED,
            "a call cannot be recorded in a CUDA graph, which timing needs; it may wait for the "
            f"GPU, or allocate memory without torch: {error}",
        ) from error
    if problem:
        raise Ended(Status.INCORRECT, f"recording: {problem}")
    return ["overlaps_calls"] if overlaps else []


def _add_controls(clock: Clock, point: Point, device: Device, known: FirstReplicate | None) -> dict:
    """Make the copy, and torch's own operation twice, series of the clock. Return columns."""
    columns = {}
    if device.is_cpu:
        clock.add(controls.HOST_COPY[point.reads], COPY)
    else:
        from .clock import copy_kernel  # needs Triton

        itemsize = clock.rotation[0][0].element_size()
        copies = copy_kernel.candidates(itemsize, point.reads)
        size = known.copy_block_bytes if known else clock.fastest(copies)
        clock.add(copies[size], COPY)
        columns["copy_block_bytes"] = size
    clock.add(controls.baseline(point.op), TORCH, TORCH_AGAIN)
    return columns
