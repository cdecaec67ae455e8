"""Compute softmax, log-softmax and their backwards over a dimension that is not the last.

Idea: a contiguous tensor is (outer, n, inner), and the softmax is over n. A program takes adjacent
columns of inner, so its loads are coalesced. Columns that are short (``triton_columns``) stay in
registers and are read once. Longer ones are read twice, with an online softmax in every lane; the
second pass starts at the end of the columns, which the caches still hold.
Bits: n and the dtypes alone determine the order of every sum. Neighbouring columns, addresses and
the number of warps do not, because ``tree_sum`` always adds lanes in the same order.
Bytes: 2·itemsize per element forward and 3·itemsize backward; up to 3·itemsize and 5·itemsize for
columns that do not fit in registers.
Limits: a short inner makes loads short. This is no variant of the benchmark, whose operations are
over the adjacent elements of a row.
Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), here with one
exp per element; the formulas of ``triton_backward``.
"""

import triton
import triton.language as tl
from torch import Tensor

from ..frontier.backward.triton_backward import gradient, summand
from ..triton_math import (
    LOG2E,
    exact_difference,
    exp_of,
    fast_exp,
    log_of_one_and,
    quotient,
    tree_sum,
)
from .triton_columns import ALL, OUTPUTS, STATES, chunks_of, columns_of, launch, tile_of

# A state of some elements of a column is their maximum and the remainder: the sum of
# exp(x - maximum) minus the maximum's own 1. So log(1 + remainder) keeps its digits if it is small.


@triton.jit
def merge(maximum, remainder, ROWS: tl.constexpr, COLS: tl.constexpr, EXACT: tl.constexpr):
    """Merge the ROWS states of each column into one (1, COLS). An empty state is (-inf, 0).

    EXACT keeps the digits of a small remainder.
    """
    merged = tl.max(maximum, axis=0)[None, :]
    is_top = maximum == merged
    scale = tl.where(is_top, 1.0, fast_exp(maximum - merged))
    sums = tl.fma(remainder, scale, scale)
    if EXACT:
        tops = tl.sum(is_top.to(tl.float32), axis=0)[None, :]  # integers, exact in any order
        remainder = tree_sum(tl.where(is_top, remainder, sums), ROWS, COLS) + (tops - 1.0)
    else:
        remainder = tree_sum(sums, ROWS, COLS) - 1.0
    return merged, remainder


@triton.jit
def load_x(x_ptr, offsets, mask):
    return tl.load(x_ptr + offsets, mask=mask, other=float("-inf")).to(tl.float32)


@triton.jit
def state_of(
    x_ptr, start, stop, first_row, inside, n_inner,
    ROWS: tl.constexpr, COLS: tl.constexpr, EXACT: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Return the state of the rows from ``start`` to ``stop``."""
    lane_max = tl.full((ROWS, COLS), float("-inf"), tl.float32)
    lane_rest = tl.zeros((ROWS, COLS), tl.float32)
    for row in tl.range(start, stop, ROWS, loop_unroll_factor=UNROLL):
        offsets, mask = tile_of(row, stop, first_row, inside, n_inner, ROWS)
        x = load_x(x_ptr, offsets, mask)
        distance = tl.where(x == lane_max, 0.0, x - lane_max)  # -inf - -inf would be NaN
        term = fast_exp(-tl.abs(distance))
        lane_rest = tl.where(x > lane_max, tl.fma(lane_rest, term, term), lane_rest + term)
        lane_max = tl.maximum(lane_max, x)
    return merge(lane_max, lane_rest, ROWS, COLS, EXACT)


@triton.jit
def exp_below(x, maximum, dtype: tl.constexpr):
    """Return exp(x - maximum) as precisely as an output of this dtype needs."""
    if dtype != tl.float32:
        return fast_exp(x - maximum)
    high, low = exact_difference(x, maximum)
    return exp_of(high, low)


@triton.jit
def divided(numerator, total, dtype: tl.constexpr):
    """Return numerator / total as precisely as an output of this dtype needs."""
    reciprocal = 1.0 / total
    if dtype != tl.float32:
        return numerator * reciprocal
    return quotient(numerator, total, reciprocal)


@triton.jit
def normaliser(maximum, remainder, LOG: tl.constexpr, dtype: tl.constexpr):
    """Return the two numbers of a column that ``output_of`` needs.

    For softmax they are the maximum and the sum of exp(x - maximum), or in 16 bits its negative
    log2. For log-softmax they are log Σ exp(x) in two parts. As in torch, infinite maxima give NaN.
    """
    remainder += maximum - maximum
    if not LOG:
        return maximum, 1.0 + remainder if dtype == tl.float32 else -tl.log2(1.0 + remainder)
    if dtype != tl.float32:
        return maximum + tl.log(1.0 + remainder), tl.zeros_like(maximum)
    log_high, log_low = log_of_one_and(remainder)
    high, low = exact_difference(maximum, -log_high)
    return high, low + log_low


@triton.jit
def output_of(x, first, second, LOG: tl.constexpr, dtype: tl.constexpr):
    """Return the output for x, from the two numbers of ``normaliser``."""
    if not LOG and dtype != tl.float32:
        return tl.exp2(tl.fma(x - first, LOG2E, second))
    if not LOG:
        return divided(exp_below(x, first, dtype), second, dtype)
    y = x - first
    if dtype == tl.float32:
        # corrects the rounding of y if |x| <= |first|; NaN, and ignored, if x is -inf
        lost = (x - (y + first)) - second
        y += tl.where(lost > -1.0, lost, 0.0)
    return y


@triton.jit
def softmax_fwd_kernel_inner(
    out_ptr, x_ptr, n, n_inner, n_columns,
    ROWS: tl.constexpr, COLS: tl.constexpr, CROSS: tl.constexpr, ALIGN: tl.constexpr,
    LOG: tl.constexpr,
):  # fmt: skip
    """Softmax of columns of at most ROWS elements, which are read once."""
    dtype: tl.constexpr = out_ptr.dtype.element_ty
    _, first_row, inside = columns_of(n, n_inner, n_columns, COLS, CROSS, ALIGN)
    offsets, mask = tile_of(0, n, first_row, inside, n_inner, ROWS)
    x = load_x(x_ptr, offsets, mask)
    if LOG:
        none = tl.zeros((ROWS, COLS), tl.float32)
        maximum, remainder = merge(x, none, ROWS, COLS, dtype == tl.float32)
        first, second = normaliser(maximum, remainder, LOG, dtype)
        y = output_of(x, first, second, LOG, dtype)
    else:
        numerator = exp_below(x, tl.max(x, axis=0)[None, :], dtype)
        y = divided(numerator, tree_sum(numerator, ROWS, COLS), dtype)
    tl.store(out_ptr + offsets, y.to(dtype), mask=mask)


@triton.jit
def softmax_fwd_kernel_inner_chunks(
    out_ptr, x_ptr, states_ptr, n, n_inner, n_columns, chunk, n_chunks,
    ROWS: tl.constexpr, COLS: tl.constexpr, CROSS: tl.constexpr, ALIGN: tl.constexpr,
    CHUNKS: tl.constexpr, LOG: tl.constexpr, PART: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """Softmax of longer columns; CHUNKS is n_chunks rounded up to a power of two."""
    dtype: tl.constexpr = out_ptr.dtype.element_ty
    cols, first_row, inside = columns_of(n, n_inner, n_columns, COLS, CROSS, ALIGN)
    EXACT: tl.constexpr = LOG and dtype == tl.float32
    begin, end = chunks_of(n_chunks, PART)
    if CHUNKS == 1:
        maximum, remainder = state_of(
            x_ptr, 0, n, first_row, inside, n_inner, ROWS, COLS, EXACT, UNROLL
        )
    else:
        rests_ptr = states_ptr + tl.cast(n_chunks, tl.int64) * n_columns
        if PART != OUTPUTS:
            for index in range(begin, end):
                start = index * chunk
                stop = tl.minimum(n, start + chunk)
                maximum, remainder = state_of(
                    x_ptr, start, stop, first_row, inside, n_inner, ROWS, COLS, EXACT, UNROLL
                )
                state_offsets = tl.cast(index, tl.int64) * n_columns + cols
                tl.store(states_ptr + state_offsets, maximum, mask=inside)
                tl.store(rests_ptr + state_offsets, remainder, mask=inside)
        if PART != STATES:
            if PART == ALL:
                tl.debug_barrier()  # other threads of the program have stored the states
            state_offsets, state_mask = tile_of(0, n_chunks, cols, inside, n_columns, CHUNKS)
            maxima = tl.load(states_ptr + state_offsets, mask=state_mask, other=float("-inf"))
            rests = tl.load(rests_ptr + state_offsets, mask=state_mask, other=0.0)
            maximum, remainder = merge(maxima, rests, CHUNKS, COLS, EXACT)
    if PART != STATES:
        first, second = normaliser(maximum, remainder, LOG, dtype)
        TILE: tl.constexpr = ROWS * UNROLL  # large, because a store holds up the next load
        start = begin * chunk
        stop = tl.minimum(n, end * chunk)
        n_tiles = tl.cdiv(stop - start, TILE)
        for step in range(n_tiles):
            row = start + (n_tiles - 1 - step) * TILE
            offsets, mask = tile_of(row, stop, first_row, inside, n_inner, TILE)
            y = output_of(load_x(x_ptr, offsets, mask), first, second, LOG, dtype)
            tl.store(out_ptr + offsets, y.to(dtype), mask=mask)


@triton.jit
def load_both(g_ptr, y_ptr, offsets, mask):
    """Return elements of g and y in float32; the compiler removes a load that is not used."""
    g = tl.load(g_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    return g, tl.load(y_ptr + offsets, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def sum_of(
    g_ptr, y_ptr, start, stop, first_row, inside, n_inner,
    ROWS: tl.constexpr, COLS: tl.constexpr, LOG: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Return the sum (1, COLS) that ``gradient`` needs, over rows from ``start`` to ``stop``."""
    lane_sum = tl.zeros((ROWS, COLS), tl.float32)
    for row in tl.range(start, stop, ROWS, loop_unroll_factor=UNROLL):
        offsets, mask = tile_of(row, stop, first_row, inside, n_inner, ROWS)
        g, y = load_both(g_ptr, y_ptr, offsets, mask)
        lane_sum = lane_sum + g if LOG else tl.fma(0.5 * g, y, lane_sum)
    return tree_sum(lane_sum, ROWS, COLS)


@triton.jit
def softmax_bwd_kernel_inner(
    dx_ptr, g_ptr, y_ptr, n, n_inner, n_columns,
    ROWS: tl.constexpr, COLS: tl.constexpr, CROSS: tl.constexpr, ALIGN: tl.constexpr,
    LOG: tl.constexpr,
):  # fmt: skip
    """Backward of columns of at most ROWS elements, which are read once."""
    dtype: tl.constexpr = dx_ptr.dtype.element_ty
    _, first_row, inside = columns_of(n, n_inner, n_columns, COLS, CROSS, ALIGN)
    offsets, mask = tile_of(0, n, first_row, inside, n_inner, ROWS)
    g, y = load_both(g_ptr, y_ptr, offsets, mask)
    total = tree_sum(summand(g, y, LOG), ROWS, COLS)
    tl.store(dx_ptr + offsets, gradient(g, y, total, LOG, dtype).to(dtype), mask=mask)


@triton.jit
def softmax_bwd_kernel_inner_chunks(
    dx_ptr, g_ptr, y_ptr, sums_ptr, n, n_inner, n_columns, chunk, n_chunks,
    ROWS: tl.constexpr, COLS: tl.constexpr, CROSS: tl.constexpr, ALIGN: tl.constexpr,
    CHUNKS: tl.constexpr, LOG: tl.constexpr, PART: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """Backward of longer columns; CHUNKS is n_chunks rounded up to a power of two."""
    dtype: tl.constexpr = dx_ptr.dtype.element_ty
    cols, first_row, inside = columns_of(n, n_inner, n_columns, COLS, CROSS, ALIGN)
    begin, end = chunks_of(n_chunks, PART)
    if CHUNKS == 1:
        total = sum_of(g_ptr, y_ptr, 0, n, first_row, inside, n_inner, ROWS, COLS, LOG, UNROLL)
    else:
        if PART != OUTPUTS:
            for index in range(begin, end):
                start = index * chunk
                stop = tl.minimum(n, start + chunk)
                part = sum_of(
                    g_ptr, y_ptr, start, stop, first_row, inside, n_inner, ROWS, COLS, LOG, UNROLL
                )
                sum_offsets = tl.cast(index, tl.int64) * n_columns + cols
                tl.store(sums_ptr + sum_offsets, part, mask=inside)
        if PART != STATES:
            if PART == ALL:
                tl.debug_barrier()  # other threads of the program have stored the sums
            sum_offsets, sum_mask = tile_of(0, n_chunks, cols, inside, n_columns, CHUNKS)
            total = tree_sum(
                tl.load(sums_ptr + sum_offsets, mask=sum_mask, other=0.0), CHUNKS, COLS
            )
    if PART != STATES:
        TILE: tl.constexpr = ROWS * UNROLL  # large, because a store holds up the next load
        start = begin * chunk
        stop = tl.minimum(n, end * chunk)
        n_tiles = tl.cdiv(stop - start, TILE)
        for step in range(n_tiles):
            row = start + (n_tiles - 1 - step) * TILE
            offsets, mask = tile_of(row, stop, first_row, inside, n_inner, TILE)
            g, y = load_both(g_ptr, y_ptr, offsets, mask)
            tl.store(dx_ptr + offsets, gradient(g, y, total, LOG, dtype).to(dtype), mask=mask)


def forward(out: Tensor, x: Tensor, sizes: tuple[int, int, int], log: bool) -> None:
    """Write the softmax of x over n, or with ``log`` the log-softmax, to ``out``.

    ``sizes`` are (outer, n, inner). Both tensors are contiguous and on the current GPU.
    """
    kernels = softmax_fwd_kernel_inner, softmax_fwd_kernel_inner_chunks
    launch(*kernels, (out, x), sizes, log, numbers=2)


def backward(dx: Tensor, g: Tensor, y: Tensor, sizes: tuple[int, int, int], log: bool) -> None:
    """Write the gradient with respect to the input to ``dx``; see ``forward``."""
    kernels = softmax_bwd_kernel_inner, softmax_bwd_kernel_inner_chunks
    launch(*kernels, (dx, g, y), sizes, log, numbers=1)
