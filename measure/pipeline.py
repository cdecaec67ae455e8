"""The stages of measuring a point: device, variant, first call, checks, timing, checks again."""

import torch

import kernels

from . import fingerprint, status
from .check import correctness, edge_cases, recheck, tamper
from .clock import buffers, controls, timing
from .clock.graph import LeftWork
from .device import compiled_stats, without_gpu
from .device.device import Device, open_device
from .inputs import draw_for
from .point import Point
from .status import Ended


def measure(point: Point, journal) -> list[tuple]:
    """Fill ``journal.row`` and return the raw samples.

    Raises WrongDevice; any other exception, the kernel's too, becomes the status of the row.
    """
    torch.manual_seed(point.seed)
    journal.stage("opening the device")
    git_state = fingerprint.ask_git()  # git works while the device opens
    device = open_device(point.gpu)
    row = journal.row
    row["gpu"] = device.slug
    row |= fingerprint.provenance(device, point.variant, git_state())
    try:
        return _measure(point, device, journal)
    except Ended as end:
        row.update(status=end.status, message=end.message)
    # SystemExit: a kernel that calls sys.exit() has not measured anything either
    except (Exception, SystemExit) as error:
        row.update(status=status.status_of(error), message=status.message_of(error))
    return []


def _measure(point: Point, device: Device, journal) -> list[tuple]:
    row = journal.row
    journal.stage("loading the variant")
    replaced = tamper.watch(device)  # what a module does while it is imported counts too
    variant = kernels.load(point.variant)
    try:
        call = variant.function(point.op)
    except NotImplementedError as error:
        raise Ended("unsupported", str(error)) from error
    if device.is_cpu and compiled_stats.is_cuda(variant.name):
        journal.stage("compiling for GPUs that are not here")
        without_gpu.compile_only(variant, point, row)
    if point.interpreted:
        without_gpu.silence_numpy()
    rows = without_gpu.interpreted_rows(point) if point.interpreted else point.M
    buffers.check_memory(rows, point, device)
    dtype = getattr(torch, point.dtype)
    inputs = draw_for(
        point.op, point.distribution, dtype, rows, point.N, point.seed, device.torch_device
    )
    if reason := variant.unsupported(inputs[0]):
        raise Ended("unsupported", reason)

    journal.stage("first call")
    if not device.is_cpu:
        row |= compiled_stats.first_call(variant.name, call, inputs)

    journal.stage("correctness check")
    checked = correctness.rows_to_check(rows, point.N, point.seed, device.torch_device)
    before = correctness.check_call(call, inputs, checked, point.op, truncates=point.interpreted)
    row |= before.columns()
    _pass("integrity", replaced())  # first: the check computes with what may have been replaced
    _pass("correctness check", before.problem)
    journal.stage("edge cases")
    _pass("edge case", edge_cases.check(point, device, call, inputs))
    _pass("integrity", replaced())
    if point.interpreted:
        message = f"correctness check passed on {rows} of {point.M} rows; not timed"
        raise Ended("interpreted", message)

    rival, remark = None, ""
    if point.rival:
        journal.stage("correctness check of the rival")
        rival, remark = controls.checked_rival(point, device, inputs, checked)
        _pass("integrity of the rival", replaced())
    journal.stage("drawing buffers")
    rotation = buffers.make(point, device, inputs)
    try:
        timed = timing.time_point(point, device, call, rival, rotation, journal.stage)
    except LeftWork as error:
        raise Ended("incorrect", f"timing: {error}") from error
    journal.stage("correctness check after timing")
    _pass("integrity", replaced())
    afterwards = recheck.check(point, rotation, timed.clock)
    row |= correctness.worst([before, afterwards]).columns()
    _pass("after timing", afterwards.problem)
    row |= timed.columns | {"status": "ok", "message": remark}
    return timed.samples.raw


def _pass(check: str, problem: str | None) -> None:
    """End the point as incorrect if a check has found a problem. Raises Ended."""
    if problem:
        raise Ended("incorrect", f"{check}: {problem}")
