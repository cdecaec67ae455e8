"""Run the stages of a point, in the worker's process: from opening the device to the last check.

The stages are: load the variant, first call, correctness check, edge cases, draw the buffers,
record the series, time them, and check the timed buffers. Each one fills columns of the row.
"""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy
import torch

import kernels

from . import fingerprint, inputs, provenance, replicate, timing
from .check import correctness, edge_cases, plain_aten, recheck, tamper
from .clock.base import Call, Inputs
from .device.opened import Device, open_device
from .errors import NoRowError, PointEnded
from .journal import Journal
from .point import Point
from .replicate import FirstReplicate
from .row import WRONG_ON
from .status import Status, classify, describe

INTERPRETED_ROWS = 16  # about one second in Triton's interpreter, which runs programs in turn
INTERPRETED_ELEMENTS = 2**20
ARCHITECTURES = ("sm_80", "sm_90")  # A100 and H200; a point on a CPU compiles CUDA C++ for them


def measure(point: Point, journal: Journal, first_row: dict | None = None) -> list[tuple]:
    """Measure a point: fill ``journal.row`` and return the raw samples.

    ``first_row`` is the row of replicate 1, for further replicates. Raises NoRowError on the wrong
    machine, for a point that was planned for other code or packages, if the baseline is not plain
    ATen, or if recording the controls fails. Any other exception becomes the status of the row.
    """
    _refuse_another_plan(point)
    reused = replicate.first_replicate_to_reuse(first_row) if first_row else None
    if reused and first_row["status"] != Status.OK:
        journal.row |= replicate.repeat_failure(first_row)
        return []
    torch.manual_seed(point.seed)
    journal.stage("opening the device")
    device = open_device(point.gpu)
    row = journal.row
    row |= {"gpu": device.slug, "order_seed": random.SystemRandom().getrandbits(32)}
    row |= provenance.columns(device, point.variant, point.op)
    row["baseline"] = point.operation.baseline_variant
    row |= plain_aten.columns(device, point.operation)
    # before the variant is imported, because its module may replace functions
    replaced = tamper.watch(device, point.operation)
    try:
        return _Run(point, device, journal, replaced, reused).samples()
    except PointEnded as end:
        row.update(status=end.status, message=end.message)
    # SystemExit: a kernel that calls sys.exit() has not measured anything either
    except (Exception, SystemExit) as error:
        status, message = classify(error), f"{journal.current}: {describe(error)}"
        # The kernel is at fault if it has left no memory, or has replaced what the controls call.
        if journal.current == timing.CONTROLS and status != Status.OUT_OF_MEMORY and not replaced():
            raise NoRowError(f"the pipeline is at fault: {message}") from error
        row.update(status=status, message=message)
    return []


def _refuse_another_plan(point: Point) -> None:
    planned = fingerprint.without_attempt(point.fingerprint)
    if planned and planned != fingerprint.fingerprint(point.variant, point.op):
        versions = fingerprint.versions(point.variant).items()
        installed = ", ".join(f"{name} {version}" for name, version in versions if version)
        raise NoRowError(
            f"the row was planned for other code or packages than this process has ({installed}). "
            "If a file was edited meanwhile, call again; else install the same packages where "
            "Snakemake runs, or no torch there, and call again"
        )


class _Run(NamedTuple):
    """Hold what the stages of a point need; they fill ``journal.row``, and raise PointEnded."""

    point: Point
    device: Device
    journal: Journal
    replaced: Callable[[], str | None]  # made by ``tamper.watch``
    reused: FirstReplicate | None  # None for replicate 1

    def samples(self) -> list[tuple]:
        """Run all stages; return the samples of the timed blocks."""
        point, row, stage = self.point, self.journal.row, self.journal.stage
        stage("loading the variant")
        variant, call = self._load()
        first = self._first_inputs()
        rows, *_ = point.operation.sizes_and_dtype(first)
        if reason := variant.unsupported(point.operation.matrices(first)[0]):
            raise PointEnded(Status.UNSUPPORTED, reason)

        stage("first call")
        if not self.device.is_cpu:
            from . import compiled_stats  # needs cuda.bindings

            row |= compiled_stats.first_call(variant.name, point.op, call, first)
        if self.reused:
            accuracies, row["message"], flags = [], self.reused.message, self.reused.flags
        else:
            accuracies = [self._check(call, first)]
            flags = {"edge_cases"} if row["message"] else set()
        if point.interpreted:
            message = f"correctness check passed on {rows} of {point.M} rows; not timed"
            row["flags"] = " ".join(flags)
            raise PointEnded(Status.INTERPRETED, "; ".join(filter(None, (message, row["message"]))))

        stage("drawing buffers")
        rotation = inputs.rotation(point, self.device, first)
        timed = timing.time_variant(point, self.device, call, rotation, self.journal, self.reused)
        stage("correctness check after timing")
        _end_if_wrong("integrity", self.replaced())
        recheck_timed = recheck.check_three_rows if self.reused else recheck.check_timed
        accuracies.append(recheck_timed(point, timed.clock))
        _end_if_wrong("integrity", self.replaced())  # again, because the recheck ran the kernel
        row |= correctness.worst(accuracies).columns()
        _end_if_wrong("after timing", accuracies[-1].problem)
        row |= timed.columns
        row.update(status=Status.OK, flags=" ".join(sorted(flags.union(timed.flags))))
        return timed.samples

    def _load(self) -> tuple[kernels.Variant, Call]:
        variant = kernels.load(self.point.variant)
        try:
            call = variant.function(self.point.op)
        except NotImplementedError as error:
            raise PointEnded(Status.UNSUPPORTED, str(error)) from error
        if self.device.is_cpu and "cuda" in kernels.packages(variant.name):
            self.journal.stage("compiling for GPUs that are not here")
            _compile_only(variant, call, self.point, self.journal.row)
        return variant, call

    def _first_inputs(self) -> Inputs:
        """Return the inputs of the first call. Raises PointEnded if the point needs more memory."""
        point, rows = self.point, self.point.M
        if point.interpreted:
            numpy.seterr(all="ignore")  # Triton's interpreter computes -inf - -inf with NumPy
            rows = min(rows, INTERPRETED_ROWS, max(1, INTERPRETED_ELEMENTS // point.N))
        # On a CPU an allocation may succeed, and Linux kills the process once it uses the memory.
        needed, free = _needed_bytes(rows, point, self.device), self.device.free_bytes()
        if needed > free:
            raise PointEnded(
                Status.OUT_OF_MEMORY,
                f"inputs, outputs and the check need {needed / 2**30:.1f} GiB; "
                f"{free / 2**30:.1f} GiB are free",
            )
        return inputs.draw_at(replace(point, M=rows), self.device.torch_device, 0)

    def _check(self, call: Call, first: Inputs) -> correctness.Accuracy:
        """Check a call before it is timed; write to the row what is wrong on special values."""
        point, row = self.point, self.journal.row
        self.journal.stage("correctness check")
        torch_device = self.device.torch_device
        count, *_ = point.operation.sizes_and_dtype(first)
        rows = correctness.rows_to_check(count, point.N, point.seed, torch_device)
        accuracy = correctness.check_call(call, first, rows, point.op, point.interpreted)
        row |= accuracy.columns()
        # before the check's result is used, because the check relies on what is watched
        _end_if_wrong("integrity", self.replaced())
        _end_if_wrong("correctness check", accuracy.problem)
        self.journal.stage("edge cases")
        ordinary, special = edge_cases.check(point, self.device, call, first)
        _end_if_wrong("edge case", ordinary)
        _end_if_wrong("integrity", self.replaced())
        row |= edge_cases.columns(special)
        wrong = edge_cases.first_problem(special)
        row["message"] = f"{WRONG_ON}{wrong}" if wrong else ""
        return accuracy


def _compile_only(variant: kernels.Variant, call: Call, point: Point, row: dict) -> None:
    """Compile CUDA C++ for ARCHITECTURES, and end the point: raises PointEnded, or NVRTC's error.

    Only functions that ``kernels.cuda.launch.launches`` decorates are compiled.
    """
    from kernels.cuda import nvrtc

    begin, size, dtype = time.perf_counter(), (point.M, point.N), getattr(torch, point.dtype)
    # a tensor without memory, whose rows are aligned like those of a new one
    x = torch.empty(size, dtype=dtype, device="meta")
    launches = getattr(call, "launches", ())
    compiled = [  # the architectures that support all kernels of the point
        arch
        for arch in ARCHITECTURES
        if launches and all(nvrtc.build_for(planner, x, log, arch) for planner, log in launches)
    ]
    row["compile_s"] = time.perf_counter() - begin
    one = torch.empty(1, point.N, dtype=dtype).expand(size)
    reason = variant.unsupported(one) or "it is not timed without a GPU"
    outcome = f"; compiled for {' and '.join(compiled)} without error" if compiled else ""
    if compiled and (beyond := sorted(set(ARCHITECTURES) - set(compiled))):
        outcome += f", beyond the limits of {' and '.join(beyond)}"
    raise PointEnded(Status.UNSUPPORTED, f"{reason}{outcome}")


def _end_if_wrong(check: str, problem: str | None) -> None:
    if problem:
        raise PointEnded(Status.INCORRECT, f"{check}: {problem}")


def _needed_bytes(rows: int, point: Point, device: Device) -> int:
    matrix, itemsize = rows * point.N, kernels.DTYPES[point.dtype]
    count = 1 if point.interpreted else inputs.rotation_length(point.call_bytes, device.cache_bytes)
    needed = count * point.call_bytes // point.M * rows  # the rotation
    needed += 4 * matrix  # a float32 draw
    operation = point.operation
    # copies of the inputs for comparison, and a mask
    needed += sum(operand.bytes(rows, point.N, itemsize) for operand in operation.inputs) + matrix
    allocated = operation.baseline_matrices * itemsize + operation.baseline_float32_matrices * 4
    needed += allocated * matrix
    # ten float64 arrays for each matrix that is read
    checked = min(matrix, correctness.ELEMENTS_CHECKED)
    return needed + 80 * sum(operand.is_matrix for operand in operation.inputs) * checked
