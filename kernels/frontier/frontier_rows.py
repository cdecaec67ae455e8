"""Each row in the registers of a warp, a block, or a cluster of blocks.

Idea: every lane issues the loads of all its 16-byte vectors at once and keeps them in registers. A
warp reduces its elements to an online-softmax state: their maximum, then the sum of exp. The
states are merged through shared memory with a single barrier, across a block or a cluster. Exps
are kept in float32 and only scaled for the output; config ``r`` recomputes them instead, for rows
that would take too many registers. A block arrives at the cluster barrier while its loads are in
flight and waits for it only afterwards, so that loading hides the barrier.
Unaligned rows, such as most rows of an odd N: vectors are counted from the row's first element, and
each is assembled from two aligned vectors by a funnel shift; the second one comes from the next
lane or from the cache. Before the store, neighbouring lanes shift the output back. So all accesses
are 16 bytes wide except at the ends of a warp's tile, and sums do not depend on a row's address.
Bytes: 2·M·N·itemsize, the minimum.
Limits: with 4 vectors per lane, 16 warps and 16 blocks, N up to 131,072 in float32 and twice that
in 16 bits; other configs in proportion. Compute capability 9.0, or 8.0 where one block is enough.
Source: registers, clusters and the late wait follow QuACK (Dao-AILab); the shifted vectors of
unaligned rows are our own.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, instantiate_for
from ._tiling import (
    TILE_EPILOGUES,
    RowLayout,
    fewest_blocks,
    is_unaligned,
    parse,
    plan_of,
    vectors_of,
)

ON_REQUEST = True  # ``frontier`` is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
ROWS = 4  # rows per block if each has one warp
# k: most vectors per lane. w: most warps per block. r: exps are recomputed instead of kept, which
# halves the registers in 16 bits.
CONFIGS = ("k1w16", "k2w8", "k2w16", "k4w8", "k4w16", "k8w4", "k8w8", "k8w16", "k8w4r", "k8w8r")
DEFAULT_CONFIG = "k4w16"
REGISTERS_PER_SM = 64 * 1024


def layout_of(
    vectors: int, per_lane: int, max_warps: int, max_cluster_blocks: int
) -> RowLayout | None:
    """Return the layout with at most ``per_lane`` vectors per lane; None for a row too long."""
    if vectors <= WARP * per_lane:
        return RowLayout(ceil_div(vectors, WARP), 1, 1, ROWS)
    blocks = fewest_blocks(vectors, per_lane, max_warps, max_cluster_blocks)
    return blocks and RowLayout(per_lane, *blocks, 1)


def _fits(layout: RowLayout, problem: Problem) -> bool:
    """Return whether a block's registers suffice: 1.5 per exp, plus the second vectors.

    Only unaligned rows load a second vector for each, but they are always counted, because the
    layout must not depend on the alignment.
    """
    exps = layout.per_lane * VEC_BYTES // problem.dtype.itemsize
    registers = exps * 3 // 2 + layout.per_lane * VEC_BYTES // 4
    return registers * WARP * layout.warps * layout.rows <= REGISTERS_PER_SM


def plan(problem: Problem, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    numbers, vectors = parse(config), vectors_of(problem)
    if numbers["k"] == 1 and vectors % WARP:
        return ()  # idle lanes would cost more than fewer vectors per lane save
    layout = layout_of(vectors, numbers["k"], numbers["w"], problem.gpu.max_cluster_blocks)
    keep_exp = "r" not in numbers
    if layout is None or not (_fits(layout, problem) if keep_exp else problem.dtype.itemsize < 4):
        return ()
    sizes = *layout, is_unaligned(problem), keep_exp
    kernel = instantiate_for("frontier_rows", problem, *sizes, epilogues=TILE_EPILOGUES)
    return plan_of(SOURCE, kernel, layout, problem.rows)


with_config = functools.partial(launch.configured_kernel, plan)
softmax, log_softmax, unsupported = launch.functions(plan)
