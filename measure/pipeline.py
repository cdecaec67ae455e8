"""The stages of measuring a point: device, variant, first call, checks, timing, checks again."""

import random

import numpy
import torch

import kernels

from . import fingerprint, inputs, status
from .check import correctness, edge_cases, recheck, tamper
from .clock import timing
from .clock.graph import LeftWork
from .device import compiled_stats
from .device.device import Device, open_device
from .point import Point
from .status import Ended

INTERPRETED_ROWS = 16  # Triton's interpreter runs programs one by one; these take about a second
INTERPRETED_ELEMENTS = 2**20


def measure(point: Point, journal, first: dict | None = None) -> list[tuple]:
    """Fill ``journal.row`` and return the raw samples.

    ``first``: the row of replicate 1, if that has checked the variant. Raises WrongDevice; any
    other exception, the kernel's too, becomes the status of the row.
    """
    torch.manual_seed(point.seed)
    journal.stage("opening the device")
    device = open_device(point.gpu)
    row = journal.row
    row |= {"gpu": device.slug, "order_seed": random.SystemRandom().getrandbits(32)}
    row |= fingerprint.provenance(device, point.variant)
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
        compiled_stats.compile_only(variant, point, row)
    rows = point.M
    if point.interpreted:
        numpy.seterr(all="ignore")  # Triton's interpreter computes -inf - -inf with NumPy
        rows = min(rows, INTERPRETED_ROWS, max(1, INTERPRETED_ELEMENTS // point.N))
    _check_memory(rows, point, device)
    dtype = getattr(torch, point.dtype)
    given = inputs.draw_for(
        point.op, point.distribution, dtype, rows, point.N, point.seed, device.torch_device
    )
    if reason := variant.unsupported(given[0]):
        raise Ended("unsupported", reason)

    journal.stage("first call")
    if not device.is_cpu:
        row |= compiled_stats.first_call(variant.name, call, given)

    journal.stage("correctness check")
    checked = correctness.rows_to_check(rows, point.N, point.seed, device.torch_device)
    before = correctness.check_call(call, given, checked, point.op, truncates=point.interpreted)
    row |= before.columns()
    _pass("integrity", replaced())  # first: the check computes with what may have been replaced
    _pass("correctness check", before.problem)
    journal.stage("edge cases")
    _pass("edge case", edge_cases.check(point, device, call, given))
    _pass("integrity", replaced())
    if point.interpreted:
        message = f"correctness check passed on {rows} of {point.M} rows; not timed"
        raise Ended("interpreted", message)

    journal.stage("drawing buffers")
    rotation = inputs.rotation(point, device, given)
    audit = None
    if not device.is_cpu:
        from .check.graph_audit import Audit  # needs Triton

        audit = Audit(rotation[0][-1], point.op)
    try:
        timed = timing.time_point(
            point, device, call, rotation, audit, row["order_seed"], journal.stage
        )
    except LeftWork as error:
        raise Ended("incorrect", f"timing: {error}") from error
    journal.stage("correctness check after timing")
    _pass("integrity", replaced())
    afterwards = recheck.check(point, rotation, timed.clock)
    row |= correctness.worst([before, afterwards]).columns()
    _pass("after timing", afterwards.problem)
    row |= timed.columns | {"status": "ok", "message": ""}
    return timed.samples.raw


def _pass(check: str, problem: str | None) -> None:
    """End the point as incorrect if a check has found a problem. Raises Ended."""
    if problem:
        raise Ended("incorrect", f"{check}: {problem}")


def _check_memory(rows: int, point: Point, device: Device) -> None:
    """Raise Ended if the device has less memory free than ``rows`` rows need.

    A host that is asked for too much kills a process at random: ask first.
    """
    matrix, itemsize = rows * point.N, kernels.DTYPES[point.dtype]
    count = 1 if point.interpreted else inputs.rotation_length(point.call_bytes, device.cache_bytes)
    needed = count * point.call_bytes // point.M * rows  # the rotation
    needed += 4 * matrix  # a float32 draw
    needed += point.reads * itemsize * matrix + matrix  # copies to compare, and a mask
    needed += itemsize * matrix  # what the graph audit expects
    if point.op == "softmax_backward":
        # On a GPU torch keeps g·y, once in each series that may be torch: variant, torch twice.
        needed += 3 * itemsize * matrix
    # ten arrays of float64, and as many again for a gradient
    needed += 80 * point.reads * min(matrix, correctness.ELEMENTS_CHECKED)
    free = device.free_bytes()
    if needed > free:
        raise Ended(
            "out_of_memory",
            f"inputs, outputs and the check need {needed / 2**30:.1f} GiB; "
            f"{free / 2**30:.1f} GiB are free",
        )
