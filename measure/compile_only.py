"""Compile CUDA C++ for GPUs that are not here."""

import time

import torch

import kernels

from .errors import Ended
from .point import Point
from .status import Status

ARCHITECTURES = ("sm_80", "sm_90")  # A100 and H200, for which CUDA C++ is compiled


def compile_only(variant: kernels.Variant, point: Point, row: dict) -> None:
    """Compile CUDA C++ for ARCHITECTURES, and end the point. Raises Ended, and compilers' errors.

    A variant without a ``plan`` is not compiled.
    """
    begin, size, dtype = time.perf_counter(), (point.M, point.N), getattr(torch, point.dtype)
    compiled = []  # the architectures that take a kernel of the point
    if plan := getattr(variant.module, "plan", None):
        from kernels.cuda import nvrtc

        # a tensor without memory, with rows aligned as in a new one
        x, log = torch.empty(size, dtype=dtype, device="meta"), point.op.startswith("log_softmax")
        compiled = [arch for arch in ARCHITECTURES if nvrtc.build_for(plan, x, log, arch)]
    row["compile_s"] = time.perf_counter() - begin
    one = torch.empty(1, point.N, dtype=dtype).expand(size)
    reason = variant.unsupported(one) or "it is not timed without a GPU"
    what = f"; compiled for {' and '.join(compiled)} without error" if compiled else ""
    if compiled and (beyond := sorted(set(ARCHITECTURES) - set(compiled))):
        what += f", beyond the limits of {' and '.join(beyond)}"
    raise Ended(Status.UNSUPPORTED, f"{reason}{what}")
