"""Compute the loss of each row and its gradient with respect to the logits, in one pass.

Idea: a row stays in the registers of a warp, a block or a cluster of blocks, from which the loss
and the gradient of each logit follow. The warps' states are those of ``logits_forward`` and merge
in its order, so a loss has the same bits with and without a gradient. dx may take the place of x.
Bytes: 2·M·N·itemsize, the least possible.
Limits: rows of 1 MiB, half of it with clusters of 8 blocks; in float32, rows that do not fill whole
vectors must be longer than 16 KiB, or have 4 KiB at most. Compute capability 9.0, or 8.0 where a
block is enough.
Source: our own; the clusters follow ``frontier_rows``.
"""

from pathlib import Path

from ..contract import WARP
from ..cuda.plan import TYPES, LaunchPlan, Problem, ceil_div, instantiate
from ..frontier._tiling import CLUSTERS, is_unaligned, vectors_of
from .logits_forward import SHORT, SHORT_WARPS, segments_of

SOURCE = Path(__file__).with_suffix(".cu")
MAX_PER_LANE = 8  # Vectors of a lane; more would spill.
MAX_WARPS = 8  # Warps of a block. Blocks of 16 are slower, as fewer of them overlap.


def plan(problem: Problem, operation: str, max_warps: int = MAX_WARPS) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length, if there is one; see ``plan.Planner``."""
    names, unaligned = (TYPES[problem.dtype], operation), is_unaligned(problem)
    for per_lane, _ in SHORT:
        if vectors_of(problem) <= per_lane * WARP:
            sizes = per_lane, 1, 0, 1, 1, SHORT_WARPS, unaligned
            kernel = instantiate("loss_and_gradient", *names, *sizes)
            blocks = ceil_div(problem.rows, SHORT_WARPS)
            return (LaunchPlan(SOURCE, kernel, WARP * SHORT_WARPS, blocks, extra_args=(1,)),)
    segments = segments_of(problem.cols, problem.dtype.itemsize)
    if segments.per_lane * segments.warp_tiles > MAX_PER_LANE:
        return ()
    row_warps = segments.count * segments.warps
    for cluster in (c for c in CLUSTERS if c <= problem.gpu.max_cluster):
        if (warps := ceil_div(row_warps, cluster)) <= max_warps:
            of_warp = segments.per_lane, segments.warp_tiles, segments.warps
            kernel = instantiate(
                "loss_and_gradient", *names, *of_warp, warps, cluster, 1, unaligned
            )
            launched = SOURCE, kernel, WARP * warps, problem.rows
            return (LaunchPlan(*launched, cluster=cluster, extra_args=(segments.count,)),)
    return ()
