"""Rows in Triton, for GPUs on which the library cannot run ``frontier``.

Idea: one program per row. Up to LONGEST_BLOCK columns the whole row is in registers. A longer row
is read twice, tile by tile: the first pass is the online softmax, with a running maximum and sum
per tile position; the second pass starts at the row's end, which the caches still hold.
Bytes: 2·M·N·itemsize; long rows 3·M·N·itemsize, less what the caches serve.
Limits: rows of at most 2^30 columns.
Source: the online normaliser is Milakov and Gimelshein, "Online normalizer calculation for softmax"
(2018).
Use: as ``frontier``, for which ``softmax_bench`` runs it on compute capability 8.x.
"""

import functools

import triton
import triton.language as tl
from torch import Tensor

from ..tensors import empty_output

ON_REQUEST = True  # ``frontier`` is measured by default

LONGEST_BLOCK = 2**15  # beyond it the row no longer fits in the registers of 16 warps
TILE, TILE_WARPS = 2**14, 32  # 3 to 9 % less time than 2^12 on an H100

LOG2E, LN2 = tl.constexpr(1.44269504088896341), tl.constexpr(0.693147180559945309)


@triton.jit
def exp_for(x, dtype: tl.constexpr):
    """Return exp(x) as precisely as an output of this dtype needs.

    In float32 it corrects the rounding of x·log2(e), like ``exp_corrected`` in row_exp.cuh.
    """
    if dtype != tl.float32:
        return tl.exp(x)
    x = tl.where(x < -200.0, -200.0, x)  # exp is 0 there, and -inf - -inf below would be NaN
    product = x * LOG2E
    power = tl.exp2(product)
    return tl.fma(power, tl.fma(product, -LN2, x), power)


@triton.jit
def online_update(lane_max, lane_sum, x):
    """Return each lane's maximum and its sum of exp(x - maximum), updated with one more element."""
    new_max = tl.maximum(lane_max, x)
    pivot = tl.where(new_max == float("-inf"), 0.0, new_max)  # because -inf - -inf is NaN
    return new_max, lane_sum * tl.exp(lane_max - pivot) + tl.exp(x - pivot)


@triton.jit
def softmax_fwd_kernel_rows(
    out_ptr, x_ptr, out_stride, x_stride, n_cols,
    BLOCK: tl.constexpr, LOG: tl.constexpr, ONCE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)
    if ONCE:
        inside = lanes < n_cols
        x = tl.load(x_row + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        shifted = x - tl.max(x, axis=0)
        numerator = exp_for(shifted, out_ptr.dtype.element_ty)
        row_sum = tl.sum(numerator, axis=0)
        y = shifted - tl.log(row_sum) if LOG else numerator / row_sum
        tl.store(out_row + lanes, y.to(out_ptr.dtype.element_ty), mask=inside)
    else:
        n_tiles = tl.cdiv(n_cols, BLOCK)
        lane_max = tl.full((BLOCK,), float("-inf"), tl.float32)
        lane_sum = tl.zeros((BLOCK,), tl.float32)
        for tile in range(n_tiles):
            cols = tile * BLOCK + lanes
            x = tl.load(x_row + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
            lane_max, lane_sum = online_update(lane_max, lane_sum, x)
        row_max = tl.max(lane_max, axis=0)
        row_sum = tl.sum(lane_sum * tl.exp(lane_max - row_max), axis=0)
        for step in range(n_tiles):
            cols = (n_tiles - 1 - step) * BLOCK + lanes
            inside = cols < n_cols
            x = tl.load(x_row + cols, mask=inside, other=float("-inf")).to(tl.float32)
            shifted = x - row_max
            numerator = exp_for(shifted, out_ptr.dtype.element_ty)
            y = shifted - tl.log(row_sum) if LOG else numerator / row_sum
            tl.store(out_row + cols, y.to(out_ptr.dtype.element_ty), mask=inside)


def launch(
    out: Tensor, x: Tensor, rows: int, cols: int, strides: tuple[int, int], log: bool
) -> None:
    """Write the softmax, or with ``log`` the log-softmax, of a (rows, cols) matrix to ``out``.

    x and out may differ in dtype and have any rank; they are on the current GPU, with a column
    stride of 1. ``strides`` are the row strides of out and x in elements.
    """
    once = cols <= LONGEST_BLOCK
    block = triton.next_power_of_2(cols) if once else TILE
    warps = min(16, max(4, block // 256)) if once else TILE_WARPS
    softmax_fwd_kernel_rows[(rows,)](
        out, x, *strides, cols, BLOCK=block, LOG=log, ONCE=once, num_warps=warps
    )


def _run(x: Tensor, out: Tensor | None = None, *, log: bool) -> Tensor:
    out = empty_output(x, out)
    launch(out, x, *x.shape, (out.stride(0), x.stride(0)), log)
    return out


softmax, log_softmax = (functools.partial(_run, log=log) for log in (False, True))
