"""Divide columns among Triton programs, for ``triton_inner_dim``.

A contiguous tensor is (outer, n, inner), and a column has n elements. A program takes adjacent
columns of inner; if that would leave many of its lanes idle, it takes adjacent ones of all
outer · inner columns instead. Columns of up to ONE_TILE_ROWS rows are one tile. Longer ones are cut
into chunks of at least CHUNK rows, and these into tiles of LANE_ROWS rows. Each chunk has its own
state; if there are several, they go through a workspace in global memory. With enough programs one
launch does everything. Otherwise each chunk gets its own program, and a second launch merges
the states and writes the outputs.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

# These four determine the order in which a column is summed, so they may depend on n alone.
ONE_TILE_ROWS = 256  # longest column that is one tile and is read only once
LANE_ROWS = 128  # rows per tile of a longer column; each row has a running state
CHUNK = 2**12  # rows per chunk, at least
MAX_CHUNKS = 256

# The others only affect speed.
COLUMNS = 32  # adjacent columns per program: one warp's load, 128 bytes of float32
MIN_TILE = 2**9  # elements per program, at least; programs take several short columns
MAX_COLUMNS = 128  # columns per program, at most
WASTE = 1.4  # lanes per column, at most, before programs go on beyond the end of inner
MIN_COLUMNS = {4: 8, 2: 16}  # columns per tile, by itemsize: a sector of 32 bytes
ENOUGH_PROGRAMS = 264  # two per multiprocessor of an H100; with fewer, programs become smaller
ELEMENTS_PER_WARP = 512  # 16 per thread
# Warps, at most, by itemsize. float32 takes more registers, and with 16 warps each has fewer.
MAX_WARPS = {4: 16, 2: 8}
THREAD_BYTES = 2**6  # bytes that a thread loads of long columns before it computes
MAX_UNROLL = 8  # tiles of a column, at most, whose loads are issued together
VECTOR = 16  # Triton vectorises loads if sizes and addresses are multiples of so many elements

# Work of a launch on long columns: all of it, or one of its two halves.
ALL, STATES, OUTPUTS = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def columns_of(n, n_inner, n_columns, COLS: tl.constexpr, CROSS: tl.constexpr, ALIGN: tl.constexpr):
    """Return this program's columns, their offsets in the first row, and which of them exist.

    If CROSS is 0, they end where inner does. Otherwise they may cross the end of inner, and CROSS
    of them are adjacent in memory. If ALIGN is not 1, it equals CROSS, and each group of CROSS
    columns begins at a multiple of it, so that Triton can load vectors. If ALIGN is 1, the end of
    inner may split a group; CROSS then only makes adjacent lanes take columns rather than rows,
    which versions of Triton would decide differently.
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
    """Return the offsets of ROWS rows from ``start`` on, and the mask of those before ``stop``.

    ``first_row`` and ``inside`` are the offsets and the mask that ``columns_of`` returns.
    """
    rows = start + tl.arange(0, ROWS)[:, None]
    return first_row + rows.to(tl.int64) * n_inner, inside & (rows < stop)


@triton.jit
def chunks_of(n_chunks, PART: tl.constexpr):
    """Return the range of this program's chunks: the first one, and one past the last."""
    index = tl.program_id(1)
    if PART == ALL:
        return index, index + n_chunks  # index is 0
    if PART == OUTPUTS:
        index = n_chunks - 1 - index  # the last chunks first, which the caches still hold
    return index, index + 1


def launch(one_tile, chunked, tensors: tuple[Tensor, ...], sizes: tuple, log: bool, numbers: int):
    """Launch the kernel ``one_tile`` or ``chunked`` for a tensor of ``sizes`` (outer, n, inner).

    ``tensors`` are the kernel's first arguments, the output first. ``numbers`` is how many float32
    numbers a chunk's state has per column.
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
        "enable_fp_fusion": False,  # all instances of a kernel must give the same bits
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
    """Return the columns per program, and whether they cross the ends of inner."""
    cols = min(COLUMNS, triton.next_power_of_2(inner))
    if itemsize == 2 and inner > COLUMNS >= rows:
        cols *= 2  # 128 bytes again
    cols = max(cols, min(MIN_TILE // rows, MAX_COLUMNS, triton.next_power_of_2(outer * inner)))
    if outer * inner > 2**30:
        cols = min(cols, COLUMNS)  # column numbers of the last program must fit in 32 bits
    while cols > MIN_COLUMNS[itemsize] and outer * inner * chunks < cols * ENOUGH_PROGRAMS:
        cols //= 2
    lanes = triton.cdiv(inner, cols) * cols
    # If inner is short, consecutive rows are adjacent in memory, so idle lanes waste no bytes.
    crossing = cols >= 2 * inner or (inner >= VECTOR and lanes > WASTE * inner)
    return cols, crossing and outer > 1
