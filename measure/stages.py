"""The stages of measuring a point: device, variant, first call, gate, timing, gate again."""

import time
from dataclasses import replace

import torch

import kernels

from . import (
    cuda_kernels,
    environment,
    gate,
    inputs,
    integrity,
    outcome,
    probes,
    retimed,
    timing,
)
from .device import Device, open_device
from .point import Point

INTERPRETED_ROWS = 16  # Triton's interpreter runs programs one by one; these take about a second
INTERPRETED_ELEMENTS = 2**20


class Ended(Exception):
    """The point ends here, with a status other than ok."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status, self.message = status, message


def measure(point: Point, journal) -> list[tuple]:
    """Fill ``journal.row``; the raw samples.

    Raises WrongDevice; whatever the kernel raises becomes the status of the row.
    """
    torch.manual_seed(point.seed)
    device = open_device(point.gpu)
    row = journal.row
    row["gpu"] = device.slug
    row |= environment.provenance(device, point.variant)
    try:
        return _measure(point, device, journal)
    except Ended as end:
        row.update(status=end.status, message=end.message)
    # SystemExit: a kernel that calls sys.exit() has not measured anything either
    except (Exception, SystemExit) as error:
        row.update(status=outcome.status_of(error), message=outcome.message_of(error))
    return []


def _measure(point: Point, device: Device, journal) -> list[tuple]:
    row = journal.row
    journal.stage("loading the variant")
    # Tried on CPUs only, so far: on a GPU the gate before and after timing stands alone.
    strict = device.is_cpu
    # what a module does while it is imported counts too
    replaced = integrity.watch(device) if strict else lambda: None
    variant = kernels.load(point.variant)
    try:
        call = variant.function(point.op)
    except NotImplementedError as error:
        raise Ended("unsupported", str(error)) from error
    if device.is_cpu and cuda_kernels.uses(variant.name):
        _compile_only(variant, point, journal)
    rows = interpreted_rows(point) if point.interpreted else point.M
    _check_memory(rows, point, device)
    dtype = getattr(torch, point.dtype)
    x = inputs.draw(point.distribution, dtype, rows, point.N, point.seed, device.torch_device)
    if reason := variant.unsupported(x):
        raise Ended("unsupported", reason)

    journal.stage("first call")
    if not device.is_cpu:
        row |= _first_call(variant.name, call, x)

    journal.stage("gate")
    checked = gate.rows_to_check(rows, point.N, point.seed, device.torch_device)
    before = gate.check_call(call, x, checked, point.op, truncates=point.interpreted)
    row |= before.columns()
    _pass("integrity", replaced())  # first: the gate computes with what may have been replaced
    _pass("gate", before.problem)
    if strict:
        journal.stage("probes")
        _pass("probe", probes.check(point, device, call))
        _pass("integrity", replaced())
    if point.interpreted:
        raise Ended("interpreted", f"gate passed on {rows} of {point.M} rows; not timed")

    rival, why_not = (None, "")
    if point.rival:
        journal.stage("gate of the rival")
        rival, why_not = ready_rival(point, device, x, checked)
        _pass("integrity of the rival", replaced())
    journal.stage("timing")
    pairs = timing.make_pairs(point, device, x)
    columns, samples = timing.time_point(point, device, call, rival, pairs)
    journal.stage("gate after timing")
    _pass("integrity", replaced())
    after = timing.check_timed(point, pairs)
    row |= gate.worst([before, after]).columns()
    _pass("after timing", after.problem)
    if strict:
        _pass("after timing", retimed.check(point, device, call, pairs[0]))
    row |= columns | {"status": "ok", "message": why_not}
    return samples.raw


def _pass(check: str, problem: str | None) -> None:
    """End the point as incorrect where a check has found something. Raises Ended."""
    if problem:
        raise Ended("incorrect", f"{check}: {problem}")


def ready_rival(point: Point, device: Device, x: torch.Tensor, checked: torch.Tensor) -> tuple:
    """(the rival's function, "") when it may stand as a control, else (None, why it may not).

    A rival that cannot run, or is wrong, costs its own columns, never the variant's row.
    """
    if not replace(point, variant=point.rival, rival=None).timed:
        return None, f"rival {point.rival}: it cannot be timed on a CPU"
    try:
        rival = kernels.load(point.rival)
        call = rival.function(point.op)
        reason = rival.unsupported(x) or gate.check_call(call, x, checked, point.op).problem
        if device.is_cpu:
            reason = reason or probes.check(point, device, call)
    except (Exception, SystemExit) as error:
        reason = outcome.message_of(error)
    return (None, f"rival {point.rival}: {reason}") if reason else (call, "")


def interpreted_rows(point: Point) -> int:
    """How many of the point's rows Triton's interpreter is given."""
    return min(point.M, INTERPRETED_ROWS, max(1, INTERPRETED_ELEMENTS // point.N))


def _compile_only(variant: kernels.Variant, point: Point, journal) -> None:
    """CUDA C++ without a GPU: compile it, and end the point. Raises Ended."""
    journal.stage("compiling for GPUs that are not here")
    begin = time.perf_counter()
    compiled = cuda_kernels.compile_for_absent(variant, point)
    journal.row["compile_s"] = time.perf_counter() - begin
    one = torch.empty(1, point.N, dtype=getattr(torch, point.dtype))
    reason = variant.unsupported(one.expand(point.M, point.N)) or "it is not timed without a GPU"
    what = f"; compiled for {' and '.join(compiled)} without error" if compiled else ""
    if compiled and (beyond := sorted(set(cuda_kernels.ABSENT) - set(compiled))):
        what += f", beyond the limits of {' and '.join(beyond)}"
    raise Ended("unsupported", f"{reason}{what}")


def _check_memory(rows: int, point: Point, device: Device) -> None:
    """A host that is asked for too much kills a process at random: ask first."""
    # inputs and outputs: those of the gate, or all that are rotated over
    pairs = 1 if point.interpreted else timing.pair_count(point.pair_bytes, device.cache_bytes)
    needed = pairs * point.pair_bytes // point.M * rows
    needed += 4 * rows * point.N  # one matrix as it is drawn, in float32
    needed += 80 * min(rows * point.N, gate.ELEMENTS_CHECKED)  # ten arrays of float64
    free = device.free_bytes()
    if needed > free:
        raise Ended(
            "out_of_memory",
            f"inputs, outputs and the check need {needed / 2**30:.1f} GiB; "
            f"{free / 2**30:.1f} GiB are free",
        )


def _first_call(name: str, call, x: torch.Tensor) -> dict:
    """compile_s, peak_memory_bytes and what the compiler made of the kernels."""
    from . import triton_kernels  # asks the driver

    out = torch.empty_like(x)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    call(x, out)
    torch.cuda.synchronize()
    first = {
        "compile_s": time.perf_counter() - begin,
        "peak_memory_bytes": torch.cuda.max_memory_allocated(),
    }
    if cuda_kernels.uses(name):
        return first | cuda_kernels.resources()
    modules = (f"kernels.{path.stem}" for path in kernels.sources(name))
    return first | triton_kernels.resources(modules)
