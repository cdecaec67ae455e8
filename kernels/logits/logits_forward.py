"""Reduce each row of logits to its log-sum-exp, log-probabilities of tokens, entropy or loss.

Idea: every element is read once and nothing is kept. A row is cut into segments, and each warp of a
segment folds its tiles into a state: the maximum, and the sum of all exps but the maximum's, from
which the log-probability of a nearly certain token follows to the last bits. A block works on
several segments of a row at once. With few rows, several blocks share a row; with many long ones,
they share only the last rows, so that all multiprocessors end together. The last block of a row to
finish merges the states of its segments. A short row is one to three tiles of one warp. The row's
length alone decides its tiles and segments, so a row gives the same bits in any batch.
Bytes: M·N·itemsize, the least possible.
Limits: N up to 2^30. Compute capability 8.0.
Source: our own; the online softmax is that of Milakov and Gimelshein, 2018 (arXiv:1805.02867).
"""

from pathlib import Path
from typing import NamedTuple

from ..contract import LONGEST_ROW, WARP
from ..cuda.grid_workspace import MAX_MEETING_ROWS, MAX_ROW_STATES
from ..cuda.plan import TYPES, VEC_BYTES, LaunchPlan, Problem, ceil_div, instantiate
from ..frontier._tiling import is_unaligned, next_power_of_2, vectors_of

SOURCE = Path(__file__).with_suffix(".cu")
MAX_SEGMENTS = 4 * WARP  # kMaxSegments in logit_state.cuh
# All numbers below were chosen by timings on an H200.
# (vectors per lane in a tile, tiles, rows per warp) of rows that a warp holds, shortest first. Of
# two tiles, one arrives while the warp computes with the other; a vector that a row leaves empty
# costs as much as a full one.
SHORT = (
    *((1, 1, 2), (2, 1, 2)),
    *((3, 1, 1), (4, 1, 1), (5, 1, 1), (6, 1, 1), (7, 1, 1)),
    *((4, 2, 1), (5, 2, 1), (4, 3, 1)),
)
SHORT_WARPS = 2  # warps per block
PER_LANE = 8  # vectors per lane in a tile of longer rows; more would spill
# Most bytes of a row whose segments have one warp each. Those of longer rows have LONG_WARPS, and
# of many such rows, blocks share the last.
LONG_ROW = 64 * 2**10
LONG_WARPS = 4
MAX_TEAMS = 8  # segments, at most, that a block works on at once
RESIDENT_THREADS = 1024  # threads that a multiprocessor runs at once, at 64 registers each
TAIL_BLOCKS = 8  # blocks that share each of the last of many rows


class Segments(NamedTuple):
    """Hold how a row is divided, which its length alone decides."""

    per_lane: int
    warps: int
    warp_tiles: int
    count: int


def segments_of(cols: int, itemsize: int) -> Segments:
    """Return the segments of a row of ``cols`` elements."""
    row_bytes = cols * itemsize
    warps = LONG_WARPS if row_bytes > LONG_ROW else 1
    rounds = ceil_div(row_bytes, PER_LANE * warps * WARP * VEC_BYTES)  # tiles of each warp
    warp_tiles = ceil_div(rounds, MAX_SEGMENTS)
    return Segments(PER_LANE, warps, warp_tiles, ceil_div(rounds, warp_tiles))


def access_of(problem: Problem) -> str:
    """Return how a warp reads a row, an ``Access`` of logit_tile.cuh."""
    if not is_unaligned(problem):
        return "Access::kAligned"
    itemsize = problem.dtype.itemsize
    if itemsize == 4 and problem.cols * itemsize % VEC_BYTES:
        return "Access::kStrided"
    return "Access::kShifted"


def plan(problem: Problem, operation: str) -> tuple[LaunchPlan, ...]:
    """Return the instance of an operation of the source; see ``plan.Planner``."""
    if problem.cols > LONGEST_ROW:
        return ()
    names, access = (TYPES[problem.dtype], operation), access_of(problem)
    for per_lane, tiles, rows in SHORT:
        if vectors_of(problem) <= per_lane * tiles * WARP:
            sizes = per_lane, tiles, rows, SHORT_WARPS
            kernel = instantiate("logits_short", *names, *sizes, access)
            blocks = ceil_div(problem.rows, rows * SHORT_WARPS)
            return (LaunchPlan(SOURCE, kernel, WARP * SHORT_WARPS, blocks),)
    segments = segments_of(problem.cols, problem.dtype.itemsize)
    teams = teams_of(problem, segments)
    whole_rows, block_segments = divide(problem, segments, teams)
    split_blocks = ceil_div(segments.count, block_segments)
    blocks = whole_rows + (problem.rows - whole_rows) * split_blocks
    kernel = instantiate("logits_forward", *names, *segments[:2], teams, access)
    shared = whole_rows < problem.rows
    sizes = segments.warp_tiles, segments.count, whole_rows, split_blocks, block_segments
    launched = SOURCE, kernel, WARP * segments.warps * teams, blocks
    extra = sizes if shared else (0, *sizes)  # a workspace stands before the sizes
    return (LaunchPlan(*launched, uses_workspace=shared, extra_args=extra),)


def resident_blocks(problem: Problem, warps: int) -> int:
    """Return how many blocks of ``warps`` warps the GPU runs at once."""
    return problem.gpu.sm_count * RESIDENT_THREADS // (WARP * warps)


def teams_of(problem: Problem, segments: Segments) -> int:
    """Return how many segments a block works on at once; the bits of a row do not depend on it.

    All of a row's up to ``MAX_TEAMS``, so that a block ends soon. Of more, ``MAX_TEAMS`` if all
    rows fit on the GPU at once, which leaves fewer blocks to share a row; else half of it.
    """
    if segments.warps > 1:
        return 1
    most = next_power_of_2(segments.count)
    if most <= MAX_TEAMS:
        return most
    spare = resident_blocks(problem, MAX_TEAMS) // problem.rows
    return MAX_TEAMS if spare else MAX_TEAMS // 2


def divide(problem: Problem, segments: Segments, teams: int) -> tuple[int, int]:
    """Return how many rows have a block each, and the segments of a block of each other row.

    A meeting of a row's blocks costs about a microsecond. It pays if the GPU has room for three
    blocks of each row, and at the end of many long rows.
    """
    rows, resident = problem.rows, resident_blocks(problem, segments.warps * teams)
    split_rows = min(rows, MAX_MEETING_ROWS, MAX_ROW_STATES // segments.count)
    if rows > resident:
        split_rows, blocks = min(split_rows, resident // 4), TAIL_BLOCKS
        pays = problem.cols * problem.dtype.itemsize > LONG_ROW
    else:
        blocks, pays = resident // split_rows, resident // rows > 2
    # blocks take whole teams, so that no more of them share a row than the GPU holds
    block_segments = ceil_div(ceil_div(segments.count, blocks), teams) * teams
    if pays and block_segments < segments.count:
        return rows - split_rows, block_segments
    return rows, ceil_div(segments.count, teams) * teams
