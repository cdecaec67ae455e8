"""Spread columns over programs, for ``triton_inner_dim``: which elements, which launch, what order.

A contiguous tensor is (outer, n, inner). A program takes adjacent columns of inner. If that would
leave many of its lanes without work, it takes them from the sequence of all outer · inner columns.
Columns of up to ONE_TILE_ROWS are one tile. Longer ones are cut into chunks of at least CHUNK rows,
and these into tiles of LANE_ROWS. The state of every chunk is computed by itself, and the states
meet in a workspace, unless there is but one. One launch does all of it where there are programs
enough; else each chunk has its own program, and a second launch writes the outputs.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

# These four decide in which order a column is summed, so they depend on nothing but n.
ONE_TILE_ROWS = 256  # rows, at most, that are read once
LANE_ROWS = 128  # rows of a tile of longer columns: each row has its own state
CHUNK = 2**12  # rows, at least, of a state
MAX_CHUNKS = 256

# The others decide time only.
COLUMNS = 32  # adjacent columns of a program: a warp's load, 128 bytes of float32
MIN_TILE = 2**9  # elements of a program, at least: short columns are taken together
MAX_COLUMNS = 128  # columns of a program, at most
WASTE = 1.4  # lanes for each column, at most, of programs that end where inner does
MIN_COLUMNS = {4: 8, 2: 16}  # Columns of a tile by itemsize: a sector of 32 bytes.
ENOUGH_PROGRAMS = 264  # two for each multiprocessor of an H100: below, programs become smaller
ELEMENTS_PER_WARP = 512  # 16 in each thread
# Warps by itemsize, at most: float32 takes more registers, and 16 warps fewer each.
MAX_WARPS = {4: 16, 2: 8}
THREAD_BYTES = 2**6  # that a thread of long columns loads before it computes
MAX_UNROLL = 8  # tiles of a column that are loaded together, at most
VECTOR = 16  # elements: Triton loads vectors where sizes and addresses are multiples of it

# The part of the work on long columns that a launch does.
ALL, STATES, OUTPUTS = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def columns_of(n, n_inner, n_columns, COLS: tl.constexpr, CROSS: tl.constexpr, ALIGN: tl.constexpr):
    """Return this program's columns, their offsets in the first row, and which of them exist.

    Without CROSS they end where inner does. With it, CROSS columns are adjacent. Each multiple of
    ALIGN begins as many columns, at an offset that is a multiple, too; these become vectors. If
    ALIGN is 1, an end may divide them: CROSS then only says that adjacent lanes take columns rather
    than rows, which Triton's versions decide in different ways.
    """
    lanes = tl.arange(0, COLS)
    if CROSS == 0:
        parts = tl.cdiv(n_inner, COLS)
        outer = tl.program_id(0) // parts
        inner = (tl.program_id(0) % parts) * COLS + lanes
        offsets = outer.to(tl.int64) * n * n_inner + inner
        cols = outer * n_inner + inner
        exists = inner < n_inner
    else:
        cols = tl.program_id(0) * COLS + lanes
        offsets = (cols // n_inner).to(tl.int64) * n * n_inner + cols % n_inner
        offsets = tl.max_contiguous(tl.multiple_of(offsets, ALIGN), CROSS)
        exists = cols < n_columns
    return cols[None, :], offsets[None, :], exists[None, :]


@triton.jit
def tile_of(start, stop, first_row, inside, n_inner, ROWS: tl.constexpr):
    """Return the offsets of ROWS rows from ``start`` on, and which elements before ``stop`` exist.

    ``first_row`` and ``inside`` are the offsets and the mask of ``columns_of``.
    """
    rows = start + tl.arange(0, ROWS)[:, None]
    return first_row + rows.to(tl.int64) * n_inner, inside & (rows < stop)


@triton.jit
def chunks_of(n_chunks, PART: tl.constexpr):
    """Return the first of this program's chunks, and the one behind its last."""
    index = tl.program_id(1)
    if PART == ALL:
        return index, index + n_chunks  # counted from 0
    if PART == OUTPUTS:
        index = n_chunks - 1 - index  # the last chunks come first: caches still hold them
    return index, index + 1


def launch(one_tile, chunked, tensors: tuple[Tensor, ...], sizes: tuple, log: bool, numbers: int):
    """Launch one of two kernels for a tensor of ``sizes`` (outer, n, inner).

    ``tensors`` are the kernels' first arguments, the output first. ``numbers``: float32 numbers of
    a chunk's state for each column.
    """
    outer, n, inner = sizes
    n_columns, itemsize = outer * inner, tensors[0].element_size()
    rows = triton.next_power_of_2(n) if n <= ONE_TILE_ROWS else LANE_ROWS
    chunk = max(CHUNK, triton.next_power_of_2(triton.cdiv(n, MAX_CHUNKS)))
    chunks = triton.cdiv(n, chunk)
    cols, crossing = _columns(rows, outer, inner, chunks, itemsize)
    adjacent = 1 << min(VECTOR, cols, inner).bit_length() - 1
    warps = min(MAX_WARPS[itemsize], max(1, rows * cols // ELEMENTS_PER_WARP))
    options = {
        "ROWS": rows,
        "COLS": cols,
        "CROSS": adjacent if crossing else 0,
        "ALIGN": adjacent if crossing and inner % VECTOR == 0 else 1,
        "LOG": log,
        "num_warps": warps,
        "enable_fp_fusion": False,  # all instances of a kernel give the same bits
    }
    programs = triton.cdiv(n_columns, cols) if crossing else outer * triton.cdiv(inner, cols)
    if n <= ONE_TILE_ROWS:
        one_tile[programs,](*tensors, n, inner, n_columns, **options)
        return
    states = None
    if chunks > 1:
        size = numbers * chunks * n_columns
        states = torch.empty(size, dtype=torch.float32, device=tensors[0].device)
    options["CHUNKS"] = triton.next_power_of_2(chunks)
    unroll = min(MAX_UNROLL, n // rows, THREAD_BYTES * 32 * warps // (rows * cols * itemsize))
    options["UNROLL"] = 1 << max(1, unroll).bit_length() - 1
    together = chunks == 1 or 2 * programs >= ENOUGH_PROGRAMS
    for part in [ALL] if together else [STATES, OUTPUTS]:
        grid = programs, 1 if part == ALL else chunks
        chunked[grid](*tensors, states, n, inner, n_columns, chunk, chunks, PART=part, **options)


def _columns(rows: int, outer: int, inner: int, chunks: int, itemsize: int) -> tuple[int, bool]:
    """Return the columns of a program, and whether they cross the ends of inner."""
    cols = min(COLUMNS, triton.next_power_of_2(inner))
    if itemsize == 2 and inner > COLUMNS >= rows:
        cols *= 2  # 128 bytes, too
    cols = max(cols, min(MIN_TILE // rows, MAX_COLUMNS, triton.next_power_of_2(outer * inner)))
    if outer * inner > 2**30:
        cols = min(cols, COLUMNS)  # the last program counts its columns in 32 bits, too
    while cols > MIN_COLUMNS[itemsize] and outer * inner * chunks < cols * ENOUGH_PROGRAMS:
        cols //= 2
    lanes = triton.cdiv(inner, cols) * cols
    # A short row of columns lies beside the next one, so lanes without a column cost no bytes.
    crossing = cols >= 2 * inner or (inner >= VECTOR and lanes > WASTE * inner)
    return cols, crossing and outer > 1
