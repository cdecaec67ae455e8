"""One program and one block of 32 warps per row, whatever its length.

Idea: a row that fits in a block's registers is loaded once and stored once.
Bytes: 2·M·N·itemsize, the least possible.
Limits: 32 warps for every N, so short rows leave most lanes idle. From some 65536 float32 values
on, which are all registers of a block, a row spills to local memory. The article reports that it
cannot start beyond N = 131072 (triton 2.1.0); today's limit is Triton's largest tensor.
Source: "Triton 入门: 比 Torch 快的 OnlineSoftmax" (Mizuno-Ai / wu-kan, Nov 2024).

Performance explained in: docs/explanation/why_kernels_differ.md#registers-and-spills
"""

import torch
import triton
import triton.language as tl

from ._per_row import ARTICLE_WARPS, launch


@triton.jit
def softmax_fwd_kernel_fused(out_ptr, x_ptr, out_stride, x_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * x_stride + cols, mask=inside, other=float("-inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    # The article's clamp. It changes no sum: that of a row with a finite maximum is at least 1.
    # With PropagateNan a NaN stays NaN.
    denominator = tl.maximum(tl.sum(numerator, axis=0), 1e-9, propagate_nan=tl.PropagateNan.ALL)
    y = numerator / denominator
    tl.store(out_ptr + row * out_stride + cols, y.to(out_ptr.dtype.element_ty), mask=inside)


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why a row of x does not fit in one Triton block."""
    limit = tl.TRITON_MAX_TENSOR_NUMEL
    if triton.next_power_of_2(x.shape[1]) > limit:
        return f"N = {x.shape[1]} exceeds Triton's largest block of {limit} elements"
    return None


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the row softmax of x (M, N); see ``kernels.Variant``."""
    block = triton.next_power_of_2(x.shape[1])
    return launch(softmax_fwd_kernel_fused, x, out, BLOCK=block, num_warps=ARTICLE_WARPS)
