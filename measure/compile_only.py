"""Compile CUDA C++ for GPUs that are not here."""

import time

import torch

import kernels

from .errors import Ended
from .point import Point
from .status import Status

ARCHITECTURES = ("sm_80", "sm_90")  # A100 and H200, for which CUDA C++ is compiled


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
    raise Ended(Status.UNSUPPORTED, f"{reason}{what}")


def _compile(variant: kernels.Variant, point: Point) -> list[str]:
    """Compile the kernels that the point would launch; return the architectures that take it.

    Returns [] for a variant without a ``plan``. Raises the compiler's errors.
    """
    from kernels.cuda import nvrtc

    if not hasattr(variant.module, "plan"):
        return []
    # a tensor without memory, with rows aligned as in a new one
    x = torch.empty(point.M, point.N, dtype=getattr(torch, point.dtype), device="meta")
    log, plan = point.op.startswith("log_softmax"), variant.module.plan
    return [arch for arch in ARCHITECTURES if nvrtc.build_for(plan, x, log, arch)]
