"""Time a variant that has passed the correctness check, together with its controls.

The controls are the rooflines and torch's own operation, twice. Columns and flags of the row are
derived from the samples here.
"""

import random
from dataclasses import dataclass

import numpy as np

from .clock import base, controls, sampling
from .clock.base import Call, CallBuffers, Clock, NotCapturable, UnjoinedWork
from .clock.host import HostClock
from .clock.sampling import Sample
from .device.opened import Device
from .errors import PointEnded
from .inputs import ROTATION_CACHES
from .journal import Journal
from .point import Point
from .replicate import FirstReplicate
from .stats import paired_ratio
from .status import Status

AA_TOLERANCE = 0.01  # an A/A interval that excludes 1 by more than this sets a flag
# Ratio of an interval's ends above which a row is noisy. One in a thousand recorded rows of GPUs
# has so wide an interval; on a CPU with other work most rows do.
NOISY = 1.1
ROOFLINE_TOLERANCE = 1.02  # share of the roofline's bandwidth above which it is mismeasured
# Share of its lines that a cold call may find in L2. An H200 sets 3/16 of L2 aside for persisting
# lines. A kernel that kept that much of a rotation over three L2 would find 6 % of its lines there.
MAX_FOUND = 0.05
CONTROLS = "recording the controls"  # a stage in which the kernel is not called


@dataclass
class Timed:
    """Hold columns and flags of the row, all samples, and the clock, for the recheck."""

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
    reused: FirstReplicate | None,
) -> Timed:
    """Time ``call`` and its controls on the buffers of ``rotation``.

    ``reused`` holds what a further replicate takes from the first and does not measure again.
    Raises PointEnded if a call cannot be recorded in a CUDA graph, or if its graph lacks work.
    """
    order = random.Random(journal.row["order_seed"])  # orders series in blocks, and graph instances
    journal.stage("recording the variant")
    if device.is_cpu:
        clock = HostClock(rotation)
    else:
        from .clock.graph import GraphClock  # needs Triton and cuda.bindings
        from .device.telemetry import Telemetry  # needs NVIDIA's library

        clock = GraphClock(rotation, order)
    flags = _record(clock, call)
    journal.stage(CONTROLS)
    row = {"timing": clock.timing} | _add_controls(clock, point, device, reused)
    telemetry = None if device.is_cpu else Telemetry(device)
    journal.stage("timing")
    names = [base.VARIANT, base.TORCH, base.TORCH_AGAIN, base.COPY]
    names += [base.MEET] * ("meet_form" in row)
    while_busy = telemetry.sample if telemetry else None
    samples = sampling.time_blocks(clock, names, point.blocks, order, while_busy)
    row |= derive_columns(point, samples)
    journal.stage("eager calls")
    submissions = sampling.time_submissions(clock, [base.VARIANT, base.TORCH], order)
    row |= eager_columns(samples, submissions)
    if reused is None:
        journal.stage("warm time and cold loads")
        if point.call_bytes <= device.cache_bytes:
            row["warm_us"] = clock.warm_us(base.VARIANT)
        row |= clock.cold_loads(base.VARIANT, point.seed)
    flags += find_flags(row, point.call_bytes, len(rotation), device.cache_bytes)
    if telemetry:
        row |= telemetry.row()
        flags += telemetry.flags()
    return Timed(row, flags, samples, clock)


def _record(clock: Clock, call: Call) -> list[str]:
    """Record the variant, compare the calls in its graph; return flags. Raises PointEnded."""
    try:
        clock.add(call, base.VARIANT)
        problem, overlaps = clock.compare_graph(base.VARIANT)
    except UnjoinedWork as error:
        raise PointEnded(Status.INCORRECT, f"recording: {error}") from error
    except NotCapturable as error:
        raise PointEnded(
            Status.UNSUPPORTED,
            "a call cannot be recorded in a CUDA graph, which timing needs; it may wait for the "
            f"GPU, or allocate memory without torch: {error}",
        ) from error
    if problem:
        raise PointEnded(Status.INCORRECT, f"recording: {problem}")
    return ["overlaps_calls"] if overlaps else []


def _add_controls(
    clock: Clock, point: Point, device: Device, reused: FirstReplicate | None
) -> dict:
    """Add the rooflines, and torch's own operation twice, to the clock's series. Return columns."""
    columns, operation = {}, point.operation
    if device.is_cpu:
        copy = controls.HOST_ROOFLINES[operation.roofline]
        clock.add(controls.on_buffers(operation, operation.roofline, copy), base.COPY)
    else:
        from .clock import read_meet_write, roofline  # need Triton and cuda-core

        buffers = clock.rotation[0]
        copies = roofline.candidates(operation, buffers)
        form = reused.copy_form if reused else clock.fastest(copies)
        clock.add(copies[form], base.COPY)
        columns |= {"copy_form": form, "copy_block_bytes": roofline.block_bytes(form)}
        if meets := read_meet_write.candidates(operation, buffers):
            form = reused.meet_form if reused else clock.fastest(meets)
            clock.add(meets[form], base.MEET)
            columns["meet_form"] = form
    clock.add(operation.baseline, base.TORCH, base.TORCH_AGAIN)
    return columns


def derive_columns(point: Point, samples: list[Sample]) -> dict:
    times_us, torch_us, again_us, copy_us, meet_us = (
        _times_us(samples, name)
        for name in (base.VARIANT, base.TORCH, base.TORCH_AGAIN, base.COPY, base.MEET)
    )
    time_us = float(np.median(times_us))
    speedup, aa = paired_ratio(torch_us, times_us), paired_ratio(torch_us, again_us)
    meet = {}
    if len(meet_us):
        meet = {"meet_us": np.median(meet_us), "of_meet": paired_ratio(meet_us, times_us).value}
    return meet | {
        "time_us": time_us,
        "time_us_q20": np.quantile(times_us, 0.2),
        "time_us_q80": np.quantile(times_us, 0.8),
        "n_samples": len(times_us),
        "copy_us": np.median(copy_us),
        "torch_us": np.median(torch_us),
        "speedup": speedup.value,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
        "of_copy": paired_ratio(copy_us, times_us).value,
        "aa_ratio": aa.value,
        "aa_low": aa.low,
        "aa_high": aa.high,
        # counts the inputs as read once, and the outputs as written once
        "throughput_gbps": point.call_bytes / time_us / 1000,
    }


def eager_columns(samples: list[Sample], submissions: dict[str, list[float]]) -> dict:
    """Return the columns of eager calls; {} if no submission was timed.

    A loop of eager calls runs at the pace of the slower side: the host, which submits a call, or
    the GPU, which runs it. So the ratio over torch is computed from the larger of the two times,
    where each round of submissions is paired with a block of GPU times.
    """
    if not submissions:
        return {}
    columns, eager_us = {}, {}
    for series, column in ((base.VARIANT, "latency_us"), (base.TORCH, "torch_latency_us")):
        gpu_us, host_us = _times_us(samples, series), np.array(submissions[series])
        pairs = min(len(gpu_us), len(host_us))
        eager_us[series] = np.maximum(gpu_us[:pairs], host_us[:pairs])
        columns[column] = np.median(host_us)
    ratio = paired_ratio(eager_us[base.TORCH], eager_us[base.VARIANT])
    return columns | {
        "eager_speedup": ratio.value,
        "eager_speedup_low": ratio.low,
        "eager_speedup_high": ratio.high,
    }


def _times_us(samples: list[Sample], series: str) -> np.ndarray:
    return np.array([time_us for *_, name, time_us in samples if name == series])


def find_flags(columns: dict, call_bytes: int, calls: int, cache_bytes: int) -> list[str]:
    """Return the flags of a row with these columns, whose rotation has ``calls`` calls.

    ``aa_biased`` is only a coarse check; for smaller biases the analysis widens the intervals. A
    wide interval shows no bias, whatever the ratio, and makes the row ``noisy``.
    ``faster_than_roofline`` can only be told for calls that exceed the cache. ``launch_bound``: an
    eager caller waits for the host, not for the kernel.
    """
    flags = []
    if columns["aa_low"] > 1 + AA_TOLERANCE or columns["aa_high"] < 1 - AA_TOLERANCE:
        flags.append("aa_biased")
    if any(columns[f"{name}_high"] > NOISY * columns[f"{name}_low"] for name in ("aa", "speedup")):
        flags.append("noisy")
    if call_bytes > cache_bytes and columns["of_copy"] > ROOFLINE_TOLERANCE:
        flags.append("faster_than_roofline")
    if columns.get("latency_us", 0) > columns["time_us"]:
        flags.append("launch_bound")
    too_few = calls * call_bytes <= ROTATION_CACHES * cache_bytes
    if too_few or columns.get("found_in_l2", 0) > MAX_FOUND:
        flags.append("not_cold")
    return flags
