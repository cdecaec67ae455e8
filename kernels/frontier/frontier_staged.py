"""Long rows, aligned or not, copied to shared memory in aligned vectors.

Idea: each warp copies every aligned vector that overlaps its tile into shared memory. cp.async
bypasses the registers, so all the copies are in flight at once. To reduce, lanes read vectors
counted from the row's first element, each funnel-shifted out of two neighbouring aligned vectors;
so the order of every sum is the same wherever the row begins. To write, lanes read vectors that are
aligned as the output is; if x and out are aligned alike, these are the copied ones. No element
stays in a register, so up to 64 warps are resident per multiprocessor; the price is a second exp
per element. Warps wait for each other only to merge their states, as in ``frontier_rows``.
Bytes: 2·M·N·itemsize, the minimum.
Limits: rows that exceed one warp. With 4 vectors per lane, 16 warps and 16 blocks, N up to 131,072
in float32 and twice that in 16 bits; other configs in proportion. Compute capability 9.0, or 8.0
where one block is enough.
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
# k: most vectors per lane. w: most warps per block.
CONFIGS = ("k4w8", "k4w16", "k5w8", "k5w16", "k10w16")
DEFAULT_CONFIG = "k4w16"


def layout_of(
    vectors: int, per_lane: int, max_warps: int, max_cluster_blocks: int
) -> RowLayout | None:
    """Return the layout with at most ``per_lane`` vectors per lane.

    Returns None for a row that is too long, and for one that fits a single warp.
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
    # one tile per warp, plus two vectors, because a tile may begin and end inside a vector
    x_itemsize = (problem.narrow or problem.dtype).itemsize
    copied = ceil_div(layout.per_lane * x_itemsize, problem.dtype.itemsize)  # vectors per lane
    shared = layout.warps * (copied * WARP + 2) * VEC_BYTES
    if shared > problem.gpu.max_shared_per_block - STATIC_BYTES:
        return ()
    return plan_of(SOURCE, kernel, layout, problem.rows, shared)


with_config = functools.partial(launch.configured_kernel, plan)
softmax, log_softmax, unsupported = launch.functions(plan)
