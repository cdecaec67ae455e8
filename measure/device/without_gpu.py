"""What a machine without a GPU can say of a variant that it cannot time."""

import time

import numpy
import torch

import kernels

from ..point import Point
from ..status import Ended
from . import compiled_cuda

INTERPRETED_ROWS = 16  # Triton's interpreter runs programs one by one; these take about a second
INTERPRETED_ELEMENTS = 2**20


def as_quiet_as_a_gpu() -> None:
    """For the rest of this process: NumPy, which interprets, says nothing of -inf - -inf."""
    numpy.seterr(all="ignore")


def interpreted_rows(point: Point) -> int:
    """How many of the point's rows Triton's interpreter is given."""
    return min(point.M, INTERPRETED_ROWS, max(1, INTERPRETED_ELEMENTS // point.N))


def compile_only(variant: kernels.Variant, point: Point, row: dict) -> None:
    """CUDA C++ without a GPU: compile it, and end the point. Raises Ended."""
    begin = time.perf_counter()
    compiled = compiled_cuda.compile_for_absent(variant, point)
    row["compile_s"] = time.perf_counter() - begin
    one = torch.empty(1, point.N, dtype=getattr(torch, point.dtype))
    reason = variant.unsupported(one.expand(point.M, point.N)) or "it is not timed without a GPU"
    what = f"; compiled for {' and '.join(compiled)} without error" if compiled else ""
    if compiled and (beyond := sorted(set(compiled_cuda.ABSENT) - set(compiled))):
        what += f", beyond the limits of {' and '.join(beyond)}"
    raise Ended("unsupported", f"{reason}{what}")
