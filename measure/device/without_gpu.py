"""What a machine without a GPU can say of a variant that it cannot time."""

import time

import numpy
import torch

import kernels

from ..point import Point
from ..status import Ended

INTERPRETED_ROWS = 16  # Triton's interpreter runs programs one by one; these take about a second
INTERPRETED_ELEMENTS = 2**20
ARCHITECTURES = ("sm_80", "sm_90")  # A100 and H200, for which CUDA C++ is compiled


def silence_numpy() -> None:
    """Suppress NumPy's warnings, of -inf - -inf say: Triton's interpreter computes with it."""
    numpy.seterr(all="ignore")


def interpreted_rows(point: Point) -> int:
    """Return how many of the point's rows Triton's interpreter gets."""
    return min(point.M, INTERPRETED_ROWS, max(1, INTERPRETED_ELEMENTS // point.N))


def compile_only(variant: kernels.Variant, point: Point, row: dict) -> None:
    """Compile CUDA C++ for ARCHITECTURES, and end the point. Raises Ended."""
    begin = time.perf_counter()
    compiled = _compile(variant, point)
    row["compile_s"] = time.perf_counter() - begin
    one = torch.empty(1, point.N, dtype=getattr(torch, point.dtype))
    reason = variant.unsupported(one.expand(point.M, point.N)) or "it is not timed without a GPU"
    what = f"; compiled for {' and '.join(compiled)} without error" if compiled else ""
    if compiled and (beyond := sorted(set(ARCHITECTURES) - set(compiled))):
        what += f", beyond the limits of {' and '.join(beyond)}"
    raise Ended("unsupported", f"{reason}{what}")


def _compile(variant: kernels.Variant, point: Point) -> list[str]:
    """Compile what the point would launch; return the architectures for which it is possible.

    None, if the variant does not say what it would launch. Raises what the compiler raises.
    """
    from kernels.cuda import nvrtc

    if not hasattr(variant.module, "plan"):
        return []
    # no data, no memory, rows aligned as a new tensor's are
    x = torch.empty(point.M, point.N, dtype=getattr(torch, point.dtype), device="meta")
    log, plan = point.op.startswith("log_softmax"), variant.module.plan
    return [arch for arch in ARCHITECTURES if nvrtc.build_for(plan, x, log, arch)]
