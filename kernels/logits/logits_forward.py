"""Reduce each row of logits to its log-sum-exp, log-probabilities of tokens, entropy or loss.

Idea: every element is read once and nothing is kept. A row is cut into segments, and each warp of a
segment folds its tiles into a state: the maximum, and the sum of all exps but the maximum's, from
which the log-probability of a nearly certain token follows to the last bits. With few rows, a block
works on several segments at once, and several blocks share a row; with many, they share only the
last rows, so that all multiprocessors end together. The last block of a row to finish merges the
states of its segments. A short row is a single tile of one warp. The row's length alone decides its
tiles and segments, so a row gives the same bits in any batch.
Bytes: M·N·itemsize, the least possible.
Limits: N up to 2^30. Compute capability 8.0.
Source: our own; the online softmax is that of Milakov and Gimelshein, 2018 (arXiv:1805.02867).
"""

import math
from pathlib import Path
from typing import NamedTuple

from ..contract import LONGEST_ROW, WARP
from ..cuda.grid_workspace import MAX_MEETING_ROWS, MAX_ROW_STATES
from ..cuda.plan import TYPES, VEC_BYTES, LaunchPlan, Problem, ceil_div, instantiate
from ..frontier._tiling import is_unaligned, next_power_of_2, parse, vectors_of

SOURCE = Path(__file__).with_suffix(".cu")
MAX_SEGMENTS = 4 * WARP  # kMaxSegments in the source
# (vectors per lane, rows per warp) for rows that fit in one tile, shortest first
SHORT = (1, 4), (2, 4), (4, 2), (8, 1)
SHORT_WARPS = 4  # warps per block
KIB = 2**10
# (most bytes of a row, config), by whether a row fills whole vectors and by the bytes of an
# element. k: vectors per lane in a tile. w: warps per segment. g: fewest tiles of a warp in a
# segment. Chosen by timings on an H200: a segment of one warp needs no barrier, and smaller blocks
# end sooner.
RULE = {
    (True, 2): ((10 * KIB, "k4w1g1"), (64 * KIB, "k8w1g1"), (math.inf, "k8w4g1")),
    (True, 4): ((8 * KIB, "k4w1g1"), (64 * KIB, "k8w1g1"), (math.inf, "k8w4g1")),
    (False, 2): ((14 * KIB, "k4w1g1"), (64 * KIB, "k8w1g1"), (math.inf, "k8w4g1")),
    # more vectors would spill
    (False, 4): ((64 * KIB, "k6w1g1"), (math.inf, "k6w4g1")),
}
RESIDENT_THREADS = 1024  # threads that a multiprocessor runs at once, at 64 registers each
MIN_TAIL_BLOCKS = 8  # blocks, at least, that share each of the last of many rows
MAX_TEAMS = 8  # segments, at most, that a block works on at once


class Segments(NamedTuple):
    """Hold how a row is divided, which its length alone decides."""

    per_lane: int
    warps: int
    warp_tiles: int
    count: int


def segments_of(cols: int, itemsize: int, config: str | None = None) -> Segments:
    """Return the segments of a row of ``cols`` elements."""
    row_bytes = cols * itemsize
    if config is None:
        rule = RULE[row_bytes % VEC_BYTES == 0, itemsize]
        config = next(config for longest, config in rule if row_bytes <= longest)
    numbers = parse(config)
    per_lane, warps = numbers["k"], numbers["w"]
    rounds = ceil_div(row_bytes, per_lane * warps * WARP * VEC_BYTES)  # bytes of all warps
    warp_tiles = max(numbers["g"], ceil_div(rounds, MAX_SEGMENTS))
    return Segments(per_lane, warps, warp_tiles, ceil_div(rounds, warp_tiles))


def plan(problem: Problem, operation: str, config: str | None = None) -> tuple[LaunchPlan, ...]:
    """Return the instance of an operation of the source; see ``plan.Planner``."""
    if problem.cols > LONGEST_ROW:
        return ()
    names, unaligned = (TYPES[problem.dtype], operation), is_unaligned(problem)
    for per_lane, rows in SHORT:
        if vectors_of(problem) <= per_lane * WARP:
            kernel = instantiate("logits_short", *names, per_lane, rows, SHORT_WARPS, unaligned)
            blocks = ceil_div(problem.rows, rows * SHORT_WARPS)
            return (LaunchPlan(SOURCE, kernel, WARP * SHORT_WARPS, blocks),)
    segments = segments_of(problem.cols, problem.dtype.itemsize, config)
    teams = teams_of(problem, segments)
    whole_rows, block_segments = divide(problem, segments, teams)
    split_blocks = ceil_div(segments.count, block_segments)
    blocks = whole_rows + (problem.rows - whole_rows) * split_blocks
    kernel = instantiate("logits_forward", *names, *segments[:2], teams, unaligned)
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

    As many as the GPU has warps for: then a row waits for fewer loads, and fewer blocks share it.
    """
    if segments.warps > 1:
        return 1
    most = min(MAX_TEAMS, next_power_of_2(segments.count))
    spare = resident_blocks(problem, 1) // problem.rows
    return min(most, 1 << spare.bit_length() - 1) if spare else 1


def divide(problem: Problem, segments: Segments, teams: int) -> tuple[int, int]:
    """Return how many rows have a block each, and the segments of a block of each other row."""
    resident = resident_blocks(problem, segments.warps * teams)
    split_rows = min(problem.rows, MAX_MEETING_ROWS, MAX_ROW_STATES // segments.count)
    if problem.rows > resident:
        split_rows = min(split_rows, resident)
    tail_blocks = max(1, resident // split_rows)
    if split_rows < problem.rows:
        tail_blocks = max(tail_blocks, MIN_TAIL_BLOCKS)
    # blocks take whole teams, so that no more of them share a row than the GPU holds
    block_segments = ceil_div(ceil_div(segments.count, tail_blocks), teams) * teams
    whole_rows = problem.rows - split_rows if block_segments < segments.count else problem.rows
    return whole_rows, block_segments
