"""Gradients in Triton: one program for each row, or for several short rows.

Idea: dx = y·(g - Σ g·y) for softmax and dx = g - exp(y)·Σ g for log-softmax are one sum over the
row and one elementwise step. A row that fits in registers is read once. A longer row is read twice,
the second time from its end, which the caches still hold.
Bytes: 3·M·N·itemsize: it reads g and y and writes dx. Rows longer than a block take up to
5·M·N·itemsize, or 4 for log-softmax, whose sum does not need y.
Limits: N below 2^31.
Source: the derivative of softmax, dy_i/dx_j = y_i·(δ_ij - y_j), and of its logarithm, δ_ij - p_j.
Use: ``pip install .`` in a clone; the gradients of ``softmax_bench``'s functions run it.
"""

import triton
import triton.language as tl

from ...tensors import backward_functions
from ...triton_math import exp_of, fast_exp

LONGEST_BLOCK = 2**14  # elements of g and y that take 64 registers per thread of 16 warps
TILE = {4: 2**14, 2: 2**13}  # elements per tile of a longer row, by itemsize
# Elements per program, at least: a single row of 128, for example, would leave threads idle.
MIN_ELEMENTS = 2**10


@triton.jit
def summand(g, y, LOG: tl.constexpr):
    """Return an element's share of the sum that ``gradient`` takes; for softmax it is halved.

    Halves avoid an overflow: g - Σ g·y may be twice the largest g, and the sum of the rounded y may
    exceed 1. Multiplying by 0.5 or 2 is exact, so no bit changes otherwise.
    """
    return g if LOG else (0.5 * g) * y


@triton.jit
def gradient(g, y, total, LOG: tl.constexpr, dtype: tl.constexpr):
    """Return dx for an output of this dtype, from the row's sum of ``summand``."""
    if not LOG:
        return (y + y) * (0.5 * g - total)
    p = exp_of(y, 0.0) if dtype == tl.float32 else fast_exp(y)
    return tl.fma(-p, total, g)


@triton.jit
def softmax_bwd_kernel_rows(
    dx_ptr, g_ptr, y_ptr, dx_stride, g_stride, y_stride, n_rows, n_cols,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, LOG: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    inside = (rows < n_rows) & (cols < n_cols)
    g = tl.load(g_ptr + rows * g_stride + cols, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + rows * y_stride + cols, mask=inside, other=0.0).to(tl.float32)
    total = tl.sum(summand(g, y, LOG), axis=1, keep_dims=True)
    dx = gradient(g, y, total, LOG, dx_ptr.dtype.element_ty)
    tl.store(dx_ptr + rows * dx_stride + cols, dx.to(dx_ptr.dtype.element_ty), mask=inside)


@triton.jit
def softmax_bwd_kernel_tiled(
    dx_ptr, g_ptr, y_ptr, dx_stride, g_stride, y_stride, n_cols,
    TILE: tl.constexpr, LOG: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    dx_row = dx_ptr + row * dx_stride
    g_row = g_ptr + row * g_stride
    y_row = y_ptr + row * y_stride
    lanes = tl.arange(0, TILE)
    n_tiles = tl.cdiv(n_cols, TILE)

    lane_sum = tl.zeros((TILE,), tl.float32)
    for tile in range(n_tiles):
        cols = tile * TILE + lanes
        inside = cols < n_cols
        g = tl.load(g_row + cols, mask=inside, other=0.0).to(tl.float32)
        y = tl.load(y_row + cols, mask=inside, other=0.0).to(tl.float32)
        lane_sum += summand(g, y, LOG)
    total = tl.sum(lane_sum, axis=0)

    for step in range(n_tiles):
        cols = (n_tiles - 1 - step) * TILE + lanes
        inside = cols < n_cols
        g = tl.load(g_row + cols, mask=inside, other=0.0).to(tl.float32)
        y = tl.load(y_row + cols, mask=inside, other=0.0).to(tl.float32)
        dx = gradient(g, y, total, LOG, dx_ptr.dtype.element_ty)
        tl.store(dx_row + cols, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def launch(g, y, dx, rows: int, cols: int, strides: tuple[int, int, int], log: bool) -> bool:
    """Launch the backward as ``tensors.backward_functions`` asks, for any dtypes. Returns True."""
    block = triton.next_power_of_2(cols)
    if block <= LONGEST_BLOCK:
        warps = 16 if block >= 2**13 else 8 if block >= 2**11 else 4
        row_count = max(1, MIN_ELEMENTS // block)
        settings = {"ROWS": row_count, "BLOCK": block, "LOG": log, "num_warps": warps}
        grid = (triton.cdiv(rows, row_count),)
        softmax_bwd_kernel_rows[grid](dx, g, y, *strides, rows, cols, **settings)
    else:
        settings = {"TILE": TILE[y.element_size()], "LOG": log, "num_warps": 32}
        softmax_bwd_kernel_tiled[(rows,)](dx, g, y, *strides, cols, **settings)
    return True


softmax_backward, log_softmax_backward = backward_functions(launch)
