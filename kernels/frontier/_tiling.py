"""Divide a row among lanes, warps and thread blocks; shared by the planners of ``frontier``.

The division follows from the row's length and dtype and never from the number of rows, so a row
gives the same bits in any batch. Unless stated otherwise a vector has 16 bytes, and "per lane"
counts the vectors of one row that a lane holds.
"""

import functools
import re
from pathlib import Path
from typing import NamedTuple

from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, next_power_of_2

TILE_EPILOGUES = "OnlineSoftmax", "OnlineLogSoftmax"  # C++ types of epilogue.cuh.
CLUSTERS = (1, 2, 4, 8, 16)  # blocks
# Bytes of a block's shared memory that its tiles must leave free: the softmax states of 16 blocks
# of 16 warps take 2 KiB, and CUDA reserves 1 KiB.
STATIC_BYTES = 7 * 1024


class RowLayout(NamedTuple):
    """Describe who shares a row: the lanes of one warp, the warps of a block, or a cluster."""

    per_lane: int  # vectors of a row that each lane holds
    warps: int  # warps per block that share one row
    cluster: int  # blocks that share one row
    rows: int  # rows per block, one warp each; 1 if a row takes more than one warp


@functools.cache
def parse(config: str) -> dict[str, int]:
    """Return the numbers of a config by their letters: "k8w16r" is {"k": 8, "w": 16, "r": 1}."""
    return {key: int(value or 1) for key, value in re.findall(r"([a-z])(\d*)", config)}


def fewest_blocks(
    vectors: int, per_lane: int, max_warps: int, max_cluster_blocks: int
) -> tuple[int, int] | None:
    """Return (warps per block, blocks per cluster) for the smallest cluster that holds a row.

    A lane holds at most ``per_lane`` vectors. Returns None if the row is too long.
    """
    for cluster in (c for c in CLUSTERS if c <= max_cluster_blocks):
        warps = ceil_div(vectors, WARP * per_lane * cluster)
        if warps <= max_warps:
            return warps, cluster
    return None


def lanes_of(units: int, per_lane: int) -> int:
    """Return how many lanes share a row of ``units``, at most ``per_lane`` each: a power of two."""
    return next_power_of_2(ceil_div(units, per_lane))


def vectors_of(problem: Problem) -> int:
    """Return how many 16-byte vectors a row has; the last one may be partial."""
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
