"""The stages of measuring a point: device, variant, first call, gate, timing, gate again."""

import torch

import kernels

from . import fingerprint, inputs, status, versions
from .check import edge_cases, gate, recheck, tamper
from .clock import buffers, rival, timing
from .clock.graph import LeftWork
from .device import compiled_cuda, first_call, memory, without_gpu
from .device.device import Device, open_device
from .point import Point
from .status import Ended


def measure(point: Point, journal) -> list[tuple]:
    """Fill ``journal.row``; the raw samples.

    Raises WrongDevice; whatever the kernel raises becomes the status of the row.
    """
    torch.manual_seed(point.seed)
    journal.stage("opening the device")
    git_state = fingerprint.ask_git()  # which it says while the device opens
    device = open_device(point.gpu)
    row = journal.row
    row["gpu"] = device.slug
    row |= versions.provenance(device, point.variant, git_state())
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
    if device.is_cpu and compiled_cuda.uses(variant.name):
        journal.stage("compiling for GPUs that are not here")
        without_gpu.compile_only(variant, point, row)
    if point.interpreted:
        without_gpu.as_quiet_as_a_gpu()
    rows = without_gpu.interpreted_rows(point) if point.interpreted else point.M
    memory.check(rows, point, device)
    dtype = getattr(torch, point.dtype)
    read = inputs.draw_for(
        point.op, point.distribution, dtype, rows, point.N, point.seed, device.torch_device
    )
    if reason := variant.unsupported(read[0]):
        raise Ended("unsupported", reason)

    journal.stage("first call")
    if not device.is_cpu:
        row |= first_call.look(variant.name, call, read)

    journal.stage("gate")
    checked = gate.rows_to_check(rows, point.N, point.seed, device.torch_device)
    before = gate.check_call(call, read, checked, point.op, truncates=point.interpreted)
    row |= before.columns()
    _pass("integrity", replaced())  # first: the gate computes with what may have been replaced
    _pass("gate", before.problem)
    journal.stage("probes")
    _pass("probe", edge_cases.check(point, device, call, read))
    _pass("integrity", replaced())
    if point.interpreted:
        raise Ended("interpreted", f"gate passed on {rows} of {point.M} rows; not timed")

    other, remark = (None, "")
    if point.rival:
        journal.stage("gate of the rival")
        other, remark = rival.ready(point, device, read, checked)
        _pass("integrity of the rival", replaced())
    journal.stage("drawing buffers")
    pairs = buffers.make(point, device, read)
    try:
        timed = timing.time_point(point, device, call, other, pairs, journal.stage)
    except LeftWork as error:
        raise Ended("incorrect", f"timing: {error}") from error
    journal.stage("gate after timing")
    _pass("integrity", replaced())
    afterwards = recheck.check(point, pairs, timed.clock)
    row |= gate.worst([before, afterwards]).columns()
    _pass("after timing", afterwards.problem)
    row |= timed.columns | {"status": "ok", "message": remark}
    return timed.samples.raw


def _pass(check: str, problem: str | None) -> None:
    """End the point as incorrect where a check has found something. Raises Ended."""
    if problem:
        raise Ended("incorrect", f"{check}: {problem}")
