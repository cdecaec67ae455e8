"""Spread columns over programs, for ``triton_inner_dim``: which elements, which launch, what order.

A contiguous tensor is (outer, n, inner). Its outer · inner columns are numbered in one sequence, so
that a short inner fills a program, too. Columns of up to ONE_TILE_ROWS are one tile. Longer ones
are cut into chunks of at least CHUNK rows, and these into tiles of LANE_ROWS. The state of every
chunk is computed by itself, and the states meet in a workspace, unless there is but one. One launch
does all of it where there are programs enough; else each chunk has a program of its own, and a
second launch writes the outputs.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

# These four decide in which order a column is summed, so they depend on nothing but n.
ONE_TILE_ROWS = 256  # rows, at most, that are read once
LANE_ROWS = 128  # rows of a tile of longer columns: each row has a state of its own
CHUNK = 2**12  # rows, at least, of a state
MAX_CHUNKS = 256

# The others decide time only.
COLUMNS = 32  # adjacent columns of a program: a warp's load, 128 bytes of float32
MIN_TILE = 2**10  # elements of a program: it takes more of short columns,
MAX_COLUMNS = 128  # up to here
MIN_COLUMNS = {4: 8, 2: 16}  # by itemsize: a sector of 32 bytes
ENOUGH_PROGRAMS = 264  # two for each multiprocessor of an H100: below, programs become smaller
ELEMENTS_PER_WARP = 512  # 16 in each thread
MAX_WARPS = 8
IN_FLIGHT = 2**12  # elements that a program of tiles loads before it computes, if it can,
MAX_UNROLL = 8  # by this many tiles at most
VECTOR = 16  # elements: Triton loads vectors where sizes and addresses are multiples of it

# The part of the work on long columns that a launch does.
ALL, STATES, OUTPUTS = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def columns_of(
    n, n_inner, n_columns,
    COLS: tl.constexpr, EDGES: tl.constexpr, RUN: tl.constexpr, ALIGN: tl.constexpr,
):  # fmt: skip
    """Return this program's columns, their offsets in the first row, and which of them exist.

    EDGES: the ends of inner that a program may cross; 2 stands for more. RUN columns are adjacent.
    If ALIGN is RUN, each multiple of RUN begins such columns, at an offset that is a multiple, too;
    these become vectors. If ALIGN is 1, an edge may divide them: RUN then only says that adjacent
    lanes take columns rather than rows, which Triton's versions decide in different ways.
    """
    first = tl.program_id(0) * COLS
    lanes = tl.arange(0, COLS)
    outer = first // n_inner
    cols = first % n_inner + lanes
    if EDGES == 1:
        beyond = cols >= n_inner
        outer += beyond.to(tl.int32)
        cols = tl.where(beyond, cols - n_inner, cols)
    if EDGES == 2:
        outer += cols // n_inner
        cols %= n_inner
    offsets = outer.to(tl.int64) * n * n_inner + cols
    offsets = tl.max_contiguous(tl.multiple_of(offsets, ALIGN), RUN)
    cols = first + lanes
    return cols[None, :], offsets[None, :], (cols < n_columns)[None, :]


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
        return index, index + n_chunks  # from 0 on
    if PART == OUTPUTS:
        index = n_chunks - 1 - index  # the last chunks come first: caches still hold them
    return index, index + 1


def launch(one_tile, chunked, tensors: tuple[Tensor, ...], sizes: tuple, log: bool, numbers: int):
    """Launch one of two kernels for a tensor of ``sizes`` (outer, n, inner).

    ``tensors`` are the kernels' first arguments, the output first. ``numbers``: float32 numbers of
    a chunk's state for each column.
    """
    outer, n, inner = sizes
    n_columns = outer * inner
    rows = triton.next_power_of_2(n) if n <= ONE_TILE_ROWS else LANE_ROWS
    cols = _columns(rows, n_columns, tensors[0].element_size())
    run = 1 << min(VECTOR, cols, inner).bit_length() - 1
    options = {
        "ROWS": rows,
        "COLS": cols,
        "EDGES": 0 if inner % cols == 0 else 1 if inner > cols else 2,
        "RUN": run,
        "ALIGN": run if inner % VECTOR == 0 else 1,
        "LOG": log,
        "num_warps": min(MAX_WARPS, max(1, rows * cols // ELEMENTS_PER_WARP)),
        "enable_fp_fusion": False,  # all instances of a kernel give the same bits
    }
    programs = triton.cdiv(n_columns, cols)
    if n <= ONE_TILE_ROWS:
        one_tile[programs,](*tensors, n, inner, n_columns, **options)
        return
    chunk = max(CHUNK, triton.next_power_of_2(triton.cdiv(n, MAX_CHUNKS)))
    chunks = triton.cdiv(n, chunk)
    states = None
    if chunks > 1:
        size = numbers * chunks * n_columns
        states = torch.empty(size, dtype=torch.float32, device=tensors[0].device)
    options["CHUNKS"] = triton.next_power_of_2(chunks)
    options["UNROLL"] = min(MAX_UNROLL, max(1, IN_FLIGHT // (rows * cols)))
    parts = [ALL] if chunks == 1 or programs >= ENOUGH_PROGRAMS else [STATES, OUTPUTS]
    for part in parts:
        grid = programs, 1 if part == ALL else chunks
        chunked[grid](*tensors, states, n, inner, n_columns, chunk, chunks, PART=part, **options)


def _columns(rows: int, n_columns: int, itemsize: int) -> int:
    """Return the columns of a program: fewer where there would be few programs."""
    cols = min(max(COLUMNS, MIN_TILE // rows), MAX_COLUMNS, triton.next_power_of_2(n_columns))
    if n_columns > 2**30:
        cols = COLUMNS  # the last program counts its columns in 32 bits, too
    while cols > MIN_COLUMNS[itemsize] and n_columns < cols * ENOUGH_PROGRAMS:
        cols //= 2
    return cols
