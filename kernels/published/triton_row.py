"""One program and one block per row, with warps chosen by the block's size.

Idea: ``triton_fused`` with fewer warps for short rows, so that each thread has work.
Bytes: 2·M·N·itemsize, the least possible.
Limits: as ``triton_fused``. At most 16 warps, of which each thread may use 128 registers.
Source: Clay, "How to write softmax in Triton" (Sep 2024), RTX 3090. Nagi-ovo, "Softmax in OpenAI
Triton" (Sep 2024), RTX 3090 Ti, has the same kernel and the same rule for the warps.

Performance explained in: docs/explanation/why_kernels_differ.md#powers-of-two
"""

import functools

import torch
import triton
import triton.language as tl

from ._per_row import launch
from .triton_fused import unsupported as unsupported  # a row in one block: the same limit


@triton.jit
def softmax_fwd_kernel_row(
    out_ptr, x_ptr, out_stride, x_stride, n_cols, BLOCK: tl.constexpr, LOG: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * x_stride + cols, mask=inside, other=float("-inf")).to(tl.float32)
    shifted = x - tl.max(x, axis=0)
    numerator = tl.exp(shifted)
    denominator = tl.sum(numerator, axis=0)
    y = shifted - tl.log(denominator) if LOG else numerator / denominator
    tl.store(out_ptr + row * out_stride + cols, y.to(out_ptr.dtype.element_ty), mask=inside)


def warps_for(block: int) -> int:
    """Return both write-ups' rule: 4 warps, 8 from a block of 2048, 16 from 4096."""
    return 16 if block >= 4096 else 8 if block >= 2048 else 4


def run(x: torch.Tensor, out: torch.Tensor | None = None, *, log: bool) -> torch.Tensor:
    """Return the row softmax, or log-softmax, of x (M, N); see ``kernels.Variant``."""
    block = triton.next_power_of_2(x.shape[1])
    settings = {"BLOCK": block, "LOG": log, "num_warps": warps_for(block)}
    return launch(softmax_fwd_kernel_row, x, out, **settings)


softmax, log_softmax = (functools.partial(run, log=log) for log in (False, True))
