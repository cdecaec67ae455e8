"""Compute softmax and log-softmax over any dimension, and their backwards over one before the last.

Idea: a tensor is (outer, n, inner), and the softmax is over n. A program takes some adjacent
columns of inner and all of n, so its loads are coalesced. If they fit in registers, they are read
once. Otherwise they are read twice, tile by tile, the first time by the online normaliser, with a
maximum and a sum in every lane. The second pass begins at the end, which the caches still hold.
inner is 1 for the rows of a matrix that ``frontier`` does not take.
Bytes: 2·itemsize for each element forward and 3·itemsize backward. What does not fit in registers
takes up to 3·itemsize and 5·itemsize.
Limits: rows of at most 2^30 columns. A short inner, but for 1, makes loads short. If n is short,
too, a program has few elements.
Source: the online normaliser is Milakov and Gimelshein, "Online normalizer calculation for softmax"
(2018); the formulas of ``triton_backward``, over columns.
"""

import triton
import triton.language as tl
from torch import Tensor

from ..frontier.backward.triton_backward import gradient

COLUMNS = 32  # adjacent columns of a program: a warp's load, 128 bytes of float32
LONGEST_BLOCK = 2**15  # beyond it a row no longer fits in the registers of 16 warps
# Most elements of a program that reads once, with the fewest and most warps, 8 elements in each
# thread or more; elements of a tile, 16 in each thread, each with its own maximum and sum.
OF_ROWS = LONGEST_BLOCK, (4, 16), 2**14  # this tile takes 3 to 9 % less time than 2^12 on an H100
OF_COLUMNS = 2**13, (1, 8), 2**12

LOG2E, LN2 = tl.constexpr(1.44269504088896341), tl.constexpr(0.693147180559945309)


@triton.jit
def exp_for(x, dtype: tl.constexpr):
    """Return exp(x) for an output of this dtype; ``exp_for`` in cuda/include/vec.cuh."""
    if dtype != tl.float32:
        return tl.exp(x)
    x = tl.where(x < -200.0, -200.0, x)  # exp is 0; -inf - -inf would be NaN
    product = x * LOG2E
    power = tl.exp2(product)
    return tl.fma(power, tl.fma(product, -LN2, x), power)


@triton.jit
def online_update(lane_max, lane_sum, x):
    """Return each lane's maximum and sum of exp(x - maximum), with one more element."""
    new_max = tl.maximum(lane_max, x)
    pivot = tl.where(new_max == float("-inf"), 0.0, new_max)  # -inf - -inf is NaN
    return new_max, lane_sum * tl.exp(lane_max - pivot) + tl.exp(x - pivot)


@triton.jit
def columns(n_inner, COLS: tl.constexpr):
    """Return this program's part of outer, its columns, and which columns exist."""
    parts = tl.cdiv(n_inner, COLS)
    cols = ((tl.program_id(0) % parts) * COLS + tl.arange(0, COLS)).to(tl.int64)[None, :]
    return (tl.program_id(0) // parts).to(tl.int64), cols, cols < n_inner


@triton.jit
def tile_of(tile, cols, inside, n, n_inner, ROWS: tl.constexpr):
    """Return the offsets of a tile of the program's columns, and which elements exist."""
    rows = tile * ROWS + tl.arange(0, ROWS)[:, None].to(tl.int64)
    return rows * n_inner + cols, inside & (rows < n)


@triton.jit
def store(to, x, col_max, total, here, LOG: tl.constexpr):
    """Write the (log-)softmax of elements from their column's maximum and sum."""
    dtype: tl.constexpr = to.dtype.element_ty
    shifted = x - col_max
    y = shifted - tl.log(total) if LOG else exp_for(shifted, dtype) / total
    tl.store(to, y.to(dtype), mask=here)


@triton.jit
def softmax_fwd_kernel_any_dim(
    out_ptr, x_ptr, n, n_inner, x_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, LOG: tl.constexpr, ONCE: tl.constexpr,
):  # fmt: skip
    outer, cols, inside = columns(n_inner, COLS)
    x_ptr += outer * x_stride
    out_ptr += outer * n * n_inner
    if ONCE:
        at, here = tile_of(0, cols, inside, n, n_inner, ROWS)
        x = tl.load(x_ptr + at, mask=here, other=float("-inf")).to(tl.float32)
        col_max = tl.max(x, axis=0)[None, :]
        total = tl.sum(exp_for(x - col_max, out_ptr.dtype.element_ty), axis=0)[None, :]
        store(out_ptr + at, x, col_max, total, here, LOG)
    else:
        n_tiles = tl.cdiv(n, ROWS)
        lane_max = tl.full((ROWS, COLS), float("-inf"), tl.float32)
        lane_sum = tl.zeros((ROWS, COLS), tl.float32)
        for tile in range(n_tiles):
            at, here = tile_of(tile, cols, inside, n, n_inner, ROWS)
            x = tl.load(x_ptr + at, mask=here, other=float("-inf")).to(tl.float32)
            lane_max, lane_sum = online_update(lane_max, lane_sum, x)
        col_max = tl.max(lane_max, axis=0)[None, :]
        total = tl.sum(lane_sum * tl.exp(lane_max - col_max), axis=0)[None, :]
        for step in range(n_tiles):
            at, here = tile_of(n_tiles - 1 - step, cols, inside, n, n_inner, ROWS)
            x = tl.load(x_ptr + at, mask=here, other=float("-inf")).to(tl.float32)
            store(out_ptr + at, x, col_max, total, here, LOG)


@triton.jit
def load_both(g_ptr, y_ptr, at, here):
    """Return elements of g and y in float32; the compiler drops a load that is not used."""
    g = tl.load(g_ptr + at, mask=here, other=0.0).to(tl.float32)
    return g, tl.load(y_ptr + at, mask=here, other=0.0).to(tl.float32)


@triton.jit
def softmax_bwd_kernel_any_dim(
    dx_ptr, g_ptr, y_ptr, n, n_inner,
    ROWS: tl.constexpr, COLS: tl.constexpr, LOG: tl.constexpr, ONCE: tl.constexpr,
):  # fmt: skip
    outer, cols, inside = columns(n_inner, COLS)
    cols += outer * n * n_inner
    if ONCE:
        at, here = tile_of(0, cols, inside, n, n_inner, ROWS)
        g, y = load_both(g_ptr, y_ptr, at, here)
        total = tl.sum(g if LOG else g * y, axis=0)[None, :]
        tl.store(dx_ptr + at, gradient(g, y, total, LOG).to(dx_ptr.dtype.element_ty), mask=here)
    else:
        n_tiles = tl.cdiv(n, ROWS)
        lane_sum = tl.zeros((ROWS, COLS), tl.float32)
        for tile in range(n_tiles):
            at, here = tile_of(tile, cols, inside, n, n_inner, ROWS)
            g, y = load_both(g_ptr, y_ptr, at, here)
            lane_sum += g if LOG else g * y
        total = tl.sum(lane_sum, axis=0)[None, :]
        for step in range(n_tiles):
            at, here = tile_of(n_tiles - 1 - step, cols, inside, n, n_inner, ROWS)
            g, y = load_both(g_ptr, y_ptr, at, here)
            tl.store(dx_ptr + at, gradient(g, y, total, LOG).to(dx_ptr.dtype.element_ty), mask=here)


def _tile(outer: int, n: int, inner: int) -> tuple[tuple[int], dict]:
    """Return the grid and the kernel's settings."""
    most, (fewest_warps, most_warps), tile = OF_ROWS if inner == 1 else OF_COLUMNS
    cols, rows = min(COLUMNS, triton.next_power_of_2(inner)), triton.next_power_of_2(n)
    if once := rows * cols <= most:
        warps = min(most_warps, max(fewest_warps, rows * cols // 256))
    else:
        rows, warps = tile // cols, tile // 512
    settings = {"ROWS": rows, "COLS": cols, "ONCE": once, "num_warps": warps}
    return (outer * triton.cdiv(inner, cols),), settings


def forward(x: Tensor, out: Tensor, outer: int, n: int, inner: int, stride: int, log: bool) -> None:
    """Write the (log-)softmax over n of x to ``out``, as ``dispatch.forward``."""
    grid, settings = _tile(outer, n, inner)
    softmax_fwd_kernel_any_dim[grid](out, x, n, inner, stride, LOG=log, **settings)


def backward(g: Tensor, y: Tensor, dx: Tensor, outer: int, n: int, inner: int, log: bool) -> None:
    """Write the gradient with respect to the input to ``dx``, all contiguous (outer, n, inner)."""
    grid, settings = _tile(outer, n, inner)
    softmax_bwd_kernel_any_dim[grid](dx, g, y, n, inner, LOG=log, **settings)
