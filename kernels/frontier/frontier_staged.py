"""Long rows, aligned or not, copied to shared memory in aligned vectors.

Idea: each warp copies all aligned vectors that hold some of its tile into shared memory. The copies
(cp.async) pass through no register, so all are in flight at once. For the softmax state, lanes read
vectors counted from the row's first element, each shifted out of two neighbours. So the order of
every sum is the same wherever the row begins. For the output, lanes read vectors aligned as the
output is; where x and out are aligned alike these are the copied ones. Nothing stays in registers,
so up to 64 warps are resident; exp is computed twice. Warps wait for each other only to merge their
states, in a block or a cluster, as in ``frontier_rows``.
Bytes: 2·M·N·itemsize, the least possible.
Limits: rows of more than a warp. With 4 vectors a lane, 16 warps and 16 blocks N up to 131,072 in
float32, twice that in 16 bits; other configs in proportion. Compute capability 9.0, or 8.0 where a
block is enough.
Source: our own; the merging as in ``frontier_rows``.
"""

import functools
import math
from pathlib import Path

from ..cuda import launch
from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, instantiate_for
from ._tiling import (
    STATIC_BYTES,
    TILE_EPILOGUES,
    RowLayout,
    fewest_blocks,
    parse,
    plan_of,
    vectors_of,
)

ON_REQUEST = True  # ``frontier`` is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
# k: most vectors of a lane. w: most warps of a block.
CONFIGS = ("k4w8", "k4w16", "k5w8", "k5w16", "k10w16")
DEFAULT_CONFIG = "k4w16"


def layout_of(
    vectors: int, per_lane: int, max_warps: int, max_cluster_blocks: int
) -> RowLayout | None:
    """Return the layout with at most ``per_lane`` vectors a lane.

    Returns None if the row is too long, or short enough for a single warp.
    """
    if vectors <= WARP * per_lane:
        return None
    blocks = fewest_blocks(vectors, per_lane, max_warps, max_cluster_blocks)
    return blocks and RowLayout(ceil_div(vectors, WARP * math.prod(blocks)), *blocks, 1)


def plan(problem: Problem, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    numbers = parse(config)
    layout = layout_of(
        vectors_of(problem), numbers["k"], numbers["w"], problem.gpu.max_cluster_blocks
    )
    if layout is None:
        return ()
    kernel = instantiate_for("frontier_staged", problem, *layout[:3], epilogues=TILE_EPILOGUES)
    # a tile of every warp, and two vectors more, because it may begin and end inside a vector
    x_itemsize = (problem.narrow or problem.dtype).itemsize
    copied = ceil_div(layout.per_lane * x_itemsize, problem.dtype.itemsize)  # vectors of a lane
    shared = layout.warps * (copied * WARP + 2) * VEC_BYTES
    if shared > problem.gpu.max_shared_per_block - STATIC_BYTES:
        return ()
    return plan_of(SOURCE, kernel, layout, problem.rows, shared)


with_config = functools.partial(launch.configured_kernel, plan)
softmax, log_softmax, unsupported = launch.functions(plan)
