"""Compute the loss of each row and its gradient with respect to the logits, in one pass.

Idea: a row stays in the registers of a warp, a block or a cluster of blocks, from which the loss
and the gradient of each logit follow. The warps' states are those of ``logits_forward`` and merge
in its order, so a loss has the same bits with and without a gradient. dx may take the place of x.
Bytes: 2·M·N·itemsize, the least possible.
Limits: rows of 1 MiB, half of it with clusters of 8 blocks. Compute capability 9.0, or 8.0 where a
block is enough.
Source: our own; the clusters follow ``frontier_rows``.
"""

import itertools
from pathlib import Path

from ..contract import WARP
from ..cuda.plan import TYPES, LaunchPlan, Problem, ceil_div, instantiate
from ..frontier._tiling import CLUSTERS, vectors_of
from .logits_forward import SHORT, SHORT_WARPS, access_of, segments_of

SOURCE = Path(__file__).with_suffix(".cu")
MAX_PER_LANE = 8  # Vectors of a lane; more would spill.
# Warps of a block: more blocks hide the exchange between those of a cluster, but the longest rows
# need 16 warps.
WARPS = 8, 16


def plan(problem: Problem, operation: str) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length, if there is one; see ``plan.Planner``."""
    names, access = (TYPES[problem.dtype], operation), access_of(problem)
    for per_lane, tiles, _ in SHORT:
        if vectors_of(problem) <= per_lane * tiles * WARP:
            sizes = per_lane, tiles, 0, 1, 1, SHORT_WARPS, access
            kernel = instantiate("loss_and_gradient", *names, *sizes)
            blocks = ceil_div(problem.rows, SHORT_WARPS)
            return (LaunchPlan(SOURCE, kernel, WARP * SHORT_WARPS, blocks, extra_args=(1,)),)
    segments = segments_of(problem.cols, problem.dtype.itemsize)
    if segments.per_lane * segments.warp_tiles > MAX_PER_LANE:
        return ()
    row_warps = segments.count * segments.warps
    clusters = [blocks for blocks in CLUSTERS if blocks <= problem.gpu.max_cluster_blocks]
    for max_warps, cluster in itertools.product(WARPS, clusters):
        if (warps := ceil_div(row_warps, cluster)) > max_warps:
            continue
        shape = segments.per_lane, segments.warp_tiles, segments.warps, warps, cluster, 1
        kernel = instantiate("loss_and_gradient", *names, *shape, access)
        launched, extra = (SOURCE, kernel, WARP * warps, problem.rows), (segments.count,)
        return (LaunchPlan(*launched, cluster=cluster, extra_args=extra),)
    return ()
