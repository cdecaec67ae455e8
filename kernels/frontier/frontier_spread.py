"""Each long row in the registers of many blocks, up to all that the GPU holds at once.

Idea: like ``frontier_rows`` with a cluster, but the blocks of a row exchange their softmax states
through global memory, so a row may have any number of blocks. A block loads its whole tile at once,
publishes its state, and prefetches its tile of its next row into L2. Its warps, no more than
needed, poll until the states of all the row's blocks have arrived; then the block stores its tile
from registers. The row's length alone decides how a row is cut into tiles. If not all rows fit on
the GPU at once, a block holds two tiles, so that more bytes are in flight. The states of two
adjacent tiles are always merged first, whether one block or two hold them, so the bits are the
same. A row that exceeds all registers gets several tiles per block: the last one stays in
registers, those before it in shared memory, and the rest are read twice.
Bytes: 2·M·N·itemsize if the registers and shared memory of the GPU hold a row: about 8 million
float32 elements on an H200, twice that in 16 bits. Longer rows take up to 3·M·N·itemsize, less what
L2 serves.
Limits: rows of at least two blocks; compute capability 9.0. The launch is cooperative: all its
blocks must be resident at once, and it waits until they fit on the GPU.
Source: our own. Every published state carries an epoch number, which replaces a grid barrier.
"""

import functools
from pathlib import Path

from ..contract import CLUSTER_CAPABILITY, LONGEST_ROW, MAX_CACHED_BYTES
from ..cuda import launch
from ..cuda.grid_workspace import MAX_STATES
from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, instantiate_for
from ._tiling import STATIC_BYTES, TILE_EPILOGUES, is_unaligned, parse, vectors_of

ON_REQUEST = True  # ``frontier`` is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
# k: vectors per lane in a tile. w: most warps per block.
CONFIGS = ("k4w8", "k8w8")
DEFAULT_CONFIG = "k8w8"
# Registers per thread. LOADED_TWICE: for unaligned float32 rows with more than 4 vectors per lane,
# which load two aligned vectors for each. STREAMED: for rows of several tiles per block. If fewer
# blocks turn out to be resident, the launch has fewer (``launch._blocks``).
REGISTERS, REGISTERS_LOADED_TWICE, REGISTERS_STREAMED = 64, 80, 128
# A multiprocessor has four sub-partitions, each with its own warps and registers.
PARTITIONS, PARTITION_REGISTERS = 4, 16 * 1024
MIN_STREAMED = 8  # vectors per lane, at least, for rows of several tiles per block
MAX_PAIRED = 4  # vectors per lane, at most, if a block holds two tiles: registers hold no more
# Registers per thread on newer GPUs than compute capability 9.0, where fewer would spill.
NEWER_STREAMED, NEWER_UNALIGNED = 168, 96


def registers_of(problem: Problem, per_lane: int, unaligned: bool, streamed: bool) -> int:
    """Return the register limit of a thread."""
    newer = problem.gpu.capability > CLUSTER_CAPABILITY
    if streamed:
        return NEWER_STREAMED if newer else REGISTERS_STREAMED
    if unaligned and newer:
        return NEWER_UNALIGNED
    if unaligned and per_lane > 4 and problem.dtype.itemsize == 4:
        return REGISTERS_LOADED_TWICE
    return REGISTERS


def blocks_per_sm(registers: int, warps: int) -> int:
    """Return how many blocks are resident on a multiprocessor; see ``resident_blocks()``."""
    return PARTITIONS * (PARTITION_REGISTERS // (registers * WARP)) // warps


def max_blocks(problem: Problem, per_sm: int) -> int:
    """Return the most blocks of a launch: all must be resident, and each needs a state slot."""
    return min(per_sm * problem.gpu.sm_count, MAX_STATES)


def plan(
    problem: Problem, config: str = DEFAULT_CONFIG, parts: int | None = None
) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``.

    ``parts``: tiles per block, 1 or 2, which give the same bits; None picks the faster one.
    """
    if problem.gpu.capability < CLUSTER_CAPABILITY:
        return ()
    numbers = parse(config)
    per_lane, max_warps = numbers["k"], numbers["w"]
    vectors, unaligned = vectors_of(problem), is_unaligned(problem)
    row_tiles = ceil_div(vectors, WARP * per_lane * max_warps)
    if problem.cols > LONGEST_ROW or row_tiles < 2:
        return ()  # a row of one block is for frontier_rows

    # Alignment must not change how a row is divided, so every row is divided like an unaligned one.
    def most_blocks(parts: int, streamed: bool) -> int:
        registers = registers_of(problem, parts * per_lane, True, streamed)
        return max_blocks(problem, blocks_per_sm(registers, max_warps))

    if parts is None:
        few = problem.rows * row_tiles <= most_blocks(1, False)
        parts = 1 if few or per_lane > MAX_PAIRED else 2
    row_blocks, tiles, saved_tiles = ceil_div(row_tiles, parts), 1, 0
    if streamed := row_blocks > most_blocks(parts, False):
        if per_lane < MIN_STREAMED or not (blocks := most_blocks(parts, True)):
            return ()  # registers would spill
        tiles = ceil_div(row_blocks, blocks)
        row_blocks = ceil_div(row_blocks, tiles)
        row_tiles = row_blocks * tiles
    warps = ceil_div(vectors, WARP * per_lane * row_tiles)
    registers = registers_of(problem, parts * per_lane, unaligned, streamed)
    per_sm = blocks_per_sm(registers, warps)
    tile_bytes = WARP * per_lane * warps * VEC_BYTES
    if streamed:
        shared = problem.gpu.max_shared_per_block // per_sm - STATIC_BYTES
        saved_tiles = min(tiles - 1, shared // tile_bytes)
    rounds = ceil_div(problem.rows, max_blocks(problem, per_sm) // row_blocks)
    groups = ceil_div(problem.rows, rounds)  # groups of blocks, each with one row at a time
    bypass = 1 + (problem.rows * problem.cols * problem.dtype.itemsize > MAX_CACHED_BYTES)
    sizes = per_lane, parts, warps, registers, unaligned, streamed, bypass
    kernel = instantiate_for("frontier_spread", problem, *sizes, epilogues=TILE_EPILOGUES)
    launched = SOURCE, kernel, WARP * warps, groups * row_blocks, saved_tiles * tile_bytes
    extra_args = row_blocks, tiles, saved_tiles
    return (LaunchPlan(*launched, row_blocks=row_blocks, extra_args=extra_args),)


with_config = functools.partial(launch.configured_kernel, plan)
softmax, log_softmax, unsupported = launch.functions(plan)
