"""Divide a row over lanes, warps and blocks, by its length and dtype alone.

The number of rows never decides, so a row gives the same bits in any batch.
"""

import functools
import re
from pathlib import Path
from typing import NamedTuple

from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, next_power_of_2

TILE_EPILOGUES = "OnlineSoftmax", "OnlineLogSoftmax"  # C++ types of epilogue.cuh.
CLUSTERS = (1, 2, 4, 8, 16)  # blocks
# Shared memory of a block that its tiles leave free. The states of 16 blocks of 16 warps take
# 2 KiB, CUDA takes 1 KiB.
STATIC_BYTES = 7 * 1024


class RowLayout(NamedTuple):
    """Say what shares a row: the lanes of a warp, a block of warps, or a cluster of blocks."""

    per_lane: int  # vectors
    warps: int  # Warps of a block that serve one row.
    cluster: int  # blocks that share a row
    rows: int  # Rows of a block, a warp each; 1 where a row takes more than a warp.


@functools.cache
def parse(config: str) -> dict[str, int]:
    """Return the numbers of a config by their letters: "k8w16r" is {"k": 8, "w": 16, "r": 1}."""
    return {key: int(value or 1) for key, value in re.findall(r"([a-z])(\d*)", config)}


def fewest_blocks(
    vectors: int, per_lane: int, max_warps: int, max_cluster_blocks: int
) -> tuple[int, int] | None:
    """Return (warps of a block, blocks) with the fewest blocks that hold a row.

    A lane has at most ``per_lane`` vectors. Returns None if the row is too long.
    """
    for cluster in (c for c in CLUSTERS if c <= max_cluster_blocks):
        warps = ceil_div(vectors, WARP * per_lane * cluster)
        if warps <= max_warps:
            return warps, cluster
    return None


def lanes_of(units: int, per_lane: int) -> int:
    """Return the lanes, a power of two, that share a row with at most ``per_lane`` units each."""
    return next_power_of_2(ceil_div(units, per_lane))


def vectors_of(problem: Problem) -> int:
    """Return the vectors of 16 bytes of a row; the last one may be partial."""
    return ceil_div(problem.cols * problem.dtype.itemsize, VEC_BYTES)


def is_unaligned(problem: Problem) -> bool:
    """Return whether rows may begin or end inside a vector."""
    return problem.pack * problem.dtype.itemsize != VEC_BYTES


def plan_of(
    source: Path, kernel: str, layout: RowLayout, rows: int, shared_bytes: int = 0
) -> tuple[LaunchPlan, ...]:
    """Return the plan for a matrix of ``rows`` rows, each divided by ``layout``."""
    threads, blocks = WARP * layout.warps * layout.rows, ceil_div(rows, layout.rows)
    return (LaunchPlan(source, kernel, threads, blocks, shared_bytes, cluster=layout.cluster),)
