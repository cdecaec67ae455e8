"""Compute softmax, log-softmax and their backwards over a dimension that is not the last.

Idea: a contiguous tensor is (outer, n, inner), and the softmax is over n. A program takes some
adjacent columns of inner and all of n, so its loads are coalesced. If they fit in registers, they
are read once. Otherwise they are read twice, with the online normaliser of ``triton_rows`` in every
lane. The second pass begins at the end, which the caches still hold.
Bytes: 2·itemsize for each element forward and 3·itemsize backward. Columns that do not fit in
registers take up to 3·itemsize and 5·itemsize.
Limits: a short inner makes loads short. If n is short, too, a program has few elements.
Source: the formulas of ``triton_backward`` and ``triton_rows``, over columns.
"""

import triton
import triton.language as tl
from torch import Tensor

from ..frontier.backward.triton_backward import gradient
from .triton_rows import online_update

COLUMNS = 32  # adjacent columns of a program: a warp's load, 128 bytes of float32
ONE_TILE = 2**13  # most elements of a program that reads once: 32 in each thread of 8 warps
TILE = 2**12  # elements of a tile, each with its own maximum and sum
ELEMENTS_PER_WARP = 256  # 8 in each thread; up to 8 warps


@triton.jit
def columns(n, n_inner, COLS: tl.constexpr):
    """Return the offsets of this program's columns in the first row, and which columns exist."""
    parts = tl.cdiv(n_inner, COLS)
    outer = (tl.program_id(0) // parts).to(tl.int64)
    cols = ((tl.program_id(0) % parts) * COLS + tl.arange(0, COLS)).to(tl.int64)[None, :]
    return outer * n * n_inner + cols, cols < n_inner


@triton.jit
def tile_of(tile, first_row, inside, n, n_inner, ROWS: tl.constexpr):
    """Return the offsets of a tile of the program's columns, and which elements exist."""
    rows = tile * ROWS + tl.arange(0, ROWS)[:, None].to(tl.int64)
    return first_row + rows * n_inner, inside & (rows < n)


@triton.jit
def softmax_fwd_kernel_inner(
    out_ptr, x_ptr, n, n_inner,
    ROWS: tl.constexpr, COLS: tl.constexpr, LOG: tl.constexpr, ONCE: tl.constexpr,
):  # fmt: skip
    first_row, inside = columns(n, n_inner, COLS)
    if ONCE:
        at, here = tile_of(0, first_row, inside, n, n_inner, ROWS)
        x = tl.load(x_ptr + at, mask=here, other=float("-inf")).to(tl.float32)
        shifted = x - tl.max(x, axis=0)[None, :]
        numerator = tl.exp(shifted)
        total = tl.sum(numerator, axis=0)[None, :]
        y = shifted - tl.log(total) if LOG else numerator / total
        tl.store(out_ptr + at, y.to(out_ptr.dtype.element_ty), mask=here)
    else:
        n_tiles = tl.cdiv(n, ROWS)
        lane_max = tl.full((ROWS, COLS), float("-inf"), tl.float32)
        lane_sum = tl.zeros((ROWS, COLS), tl.float32)
        for tile in range(n_tiles):
            at, here = tile_of(tile, first_row, inside, n, n_inner, ROWS)
            x = tl.load(x_ptr + at, mask=here, other=float("-inf")).to(tl.float32)
            lane_max, lane_sum = online_update(lane_max, lane_sum, x)
        row_max = tl.max(lane_max, axis=0)[None, :]
        total = tl.sum(lane_sum * tl.exp(lane_max - row_max), axis=0)[None, :]
        for step in range(n_tiles):
            at, here = tile_of(n_tiles - 1 - step, first_row, inside, n, n_inner, ROWS)
            x = tl.load(x_ptr + at, mask=here, other=float("-inf")).to(tl.float32)
            y = x - row_max - tl.log(total) if LOG else tl.exp(x - row_max) / total
            tl.store(out_ptr + at, y.to(out_ptr.dtype.element_ty), mask=here)


@triton.jit
def load_both(g_ptr, y_ptr, at, here):
    """Return elements of g and y in float32; the compiler drops a load that is not used."""
    g = tl.load(g_ptr + at, mask=here, other=0.0).to(tl.float32)
    return g, tl.load(y_ptr + at, mask=here, other=0.0).to(tl.float32)


@triton.jit
def softmax_bwd_kernel_inner(
    dx_ptr, g_ptr, y_ptr, n, n_inner,
    ROWS: tl.constexpr, COLS: tl.constexpr, LOG: tl.constexpr, ONCE: tl.constexpr,
):  # fmt: skip
    first_row, inside = columns(n, n_inner, COLS)
    if ONCE:
        at, here = tile_of(0, first_row, inside, n, n_inner, ROWS)
        g, y = load_both(g_ptr, y_ptr, at, here)
        total = tl.sum(g if LOG else g * y, axis=0)[None, :]
        tl.store(dx_ptr + at, gradient(g, y, total, LOG).to(dx_ptr.dtype.element_ty), mask=here)
    else:
        n_tiles = tl.cdiv(n, ROWS)
        lane_sum = tl.zeros((ROWS, COLS), tl.float32)
        for tile in range(n_tiles):
            at, here = tile_of(tile, first_row, inside, n, n_inner, ROWS)
            g, y = load_both(g_ptr, y_ptr, at, here)
            lane_sum += g if LOG else g * y
        total = tl.sum(lane_sum, axis=0)[None, :]
        for step in range(n_tiles):
            at, here = tile_of(n_tiles - 1 - step, first_row, inside, n, n_inner, ROWS)
            g, y = load_both(g_ptr, y_ptr, at, here)
            tl.store(dx_ptr + at, gradient(g, y, total, LOG).to(dx_ptr.dtype.element_ty), mask=here)


def _tile(outer: int, n: int, inner: int) -> tuple[tuple[int], dict]:
    """Return the grid and the kernel's settings."""
    cols = min(COLUMNS, triton.next_power_of_2(inner))
    once = triton.next_power_of_2(n) * cols <= ONE_TILE
    rows = triton.next_power_of_2(n) if once else TILE // cols
    warps = min(8, max(1, rows * cols // ELEMENTS_PER_WARP))
    settings = {"ROWS": rows, "COLS": cols, "ONCE": once, "num_warps": warps}
    return (outer * triton.cdiv(inner, cols),), settings


def forward(x: Tensor, out: Tensor, outer: int, n: int, inner: int, log: bool) -> None:
    """Write the (log-)softmax over n of x (outer, n, inner) to ``out``.

    Both are contiguous, on the current GPU, and have any rank and dtype.
    """
    grid, settings = _tile(outer, n, inner)
    softmax_fwd_kernel_inner[grid](out, x, n, inner, LOG=log, **settings)


def backward(g: Tensor, y: Tensor, dx: Tensor, outer: int, n: int, inner: int, log: bool) -> None:
    """Write the gradient with respect to the input to ``dx``, all (outer, n, inner)."""
    grid, settings = _tile(outer, n, inner)
    softmax_bwd_kernel_inner[grid](dx, g, y, n, inner, LOG=log, **settings)
