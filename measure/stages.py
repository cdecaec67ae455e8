"""The stages of measuring a point: device, variant, first call, gate, timing, gate again."""

import time

import torch

import kernels

from . import environment, gate, inputs, outcome, timing
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
    variant = _load(point.variant)
    rows = interpreted_rows(point) if point.interpreted else point.M
    _check_memory(rows, point, device)
    dtype = getattr(torch, point.dtype)
    x = inputs.draw(point.distribution, dtype, rows, point.N, point.seed, device.torch_device)
    if reason := variant.unsupported(x):
        raise Ended("unsupported", reason)

    journal.stage("first call")
    if not device.is_cpu:
        row |= _first_call(variant, x)

    journal.stage("gate")
    checked = gate.rows_to_check(rows, point.N, point.seed, device.torch_device)
    before = gate.check_call(variant.softmax, x, checked)
    row |= before.columns()
    if before.problem:
        raise Ended("incorrect", before.problem)
    if point.interpreted:
        raise Ended("interpreted", f"gate passed on {rows} of {point.M} rows; not timed")

    rival, why_not = (None, "")
    if point.rival:
        journal.stage("gate of the rival")
        rival, why_not = ready_rival(point, x, checked)
    journal.stage("timing")
    pairs = timing.make_pairs(point, device, x)
    columns, samples = timing.time_point(point, device, variant.softmax, rival, pairs)
    after = timing.check_timed(point, pairs)
    row |= gate.worst([before, after]).columns()
    if after.problem:
        raise Ended("incorrect", f"after timing: {after.problem}")
    row |= columns | {"status": "ok", "message": why_not}
    return samples.raw


def ready_rival(point: Point, x: torch.Tensor, checked: torch.Tensor) -> tuple:
    """(the rival's softmax, "") when it may stand as a control, else (None, why it may not).

    A rival that cannot run, or is wrong, costs its own columns, never the variant's row.
    """
    if point.is_cpu and "triton" in kernels.packages(point.rival):
        return None, f"rival {point.rival}: Triton cannot be timed on a CPU"
    try:
        rival = kernels.load(point.rival)
        reason = rival.unsupported(x) or gate.check_call(rival.softmax, x, checked).problem
    except (Exception, SystemExit) as error:
        reason = outcome.message_of(error)
    return (None, f"rival {point.rival}: {reason}") if reason else (rival.softmax, "")


def interpreted_rows(point: Point) -> int:
    """How many of the point's rows Triton's interpreter is given."""
    return min(point.M, INTERPRETED_ROWS, max(1, INTERPRETED_ELEMENTS // point.N))


def _load(name: str) -> kernels.Variant:
    try:
        return kernels.load(name)
    except ImportError as error:
        message = f"{outcome.message_of(error)}; install the package that it needs"
        raise Ended("unavailable", message) from error


def _check_memory(rows: int, point: Point, device: Device) -> None:
    """A host that is asked for too much kills a process at random: ask first."""
    # inputs and outputs: those of the gate, or all that are rotated over
    pairs = 1 if point.interpreted else timing.pair_count(point.pair_bytes, device.cache_bytes)
    needed = pairs * point.pair_bytes // point.M * rows
    needed += 4 * rows * point.N  # one matrix as it is drawn, in float32
    needed += 48 * min(rows * point.N, gate.ELEMENTS_CHECKED)  # six arrays of float64
    free = device.free_bytes()
    if needed > free:
        raise Ended(
            "out_of_memory",
            f"inputs, outputs and the check need {needed / 2**30:.1f} GiB; "
            f"{free / 2**30:.1f} GiB are free",
        )


def _first_call(variant: kernels.Variant, x: torch.Tensor) -> dict:
    """compile_s, peak_memory_bytes and what the compiler made of the kernels."""
    from . import triton_kernels  # asks the driver

    out = torch.empty_like(x)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    variant.softmax(x, out)
    torch.cuda.synchronize()
    return {
        "compile_s": time.perf_counter() - begin,
        "peak_memory_bytes": torch.cuda.max_memory_allocated(),
        **triton_kernels.resources(
            f"kernels.{path.stem}" for path in kernels.sources(variant.name)
        ),
    }
