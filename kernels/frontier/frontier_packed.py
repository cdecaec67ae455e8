"""Short contiguous rows of any N, moved through shared memory in one run.

Idea: row by row, unaligned rows could only be loaded 2 or 4 bytes at a time. But contiguous rows
are one run of memory, so a block loads its run of rows in 16-byte vectors, across the boundaries of
rows, into shared memory. There, part of a warp, a warp, or all warps of the block share a row, and
each lane reads a strided subset of its elements into registers. Softmax computes each exp once. The
outputs replace the elements in shared memory and are stored as vectors, except at the two ends of
the run. In small matrices, and if rows are not contiguous, lanes access global memory directly. In
a small matrix up to eight lanes share the elements that one lane has in a large one. None of this
changes the order of a sum.
Bytes: 2·M·N·itemsize, the minimum.
Limits: N up to 4096 in float32 and 8192 in 16 bits (16 warps, 32 bytes per lane). Capability 8.0.
Source: our own.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, instantiate_for
from ._tiling import TILE_EPILOGUES, lanes_of, parse

ON_REQUEST = True  # ``frontier`` is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 128  # per block, if a row takes at most one warp
MAX_WARPS = 16  # warps per row, at most
WARPS_LANE_BYTES = 32  # bytes per lane, at most, if a row takes several warps
SUMS = 8  # partial sums per lane; kPackedSums in the source
# Limits of a small matrix: all its threads are resident at once, and barriers cost it more than
# element-wise accesses do. Measured on an H100.
SMALL_ELEMENTS, SMALL_THREADS = 3 * 2**19, 2**18
# k: most elements per lane, if a row takes at most one warp. s: small matrices are no exception.
CONFIGS = ("k16", "k20", "k20s", "k24")
DEFAULT_CONFIG = "k20"


def plan(problem: Problem, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    cols, itemsize, numbers = problem.cols, problem.dtype.itemsize, parse(config)
    lanes, warps, rows, sums = lanes_of(cols, numbers["k"]), 1, 1, SUMS
    most_lanes = min(WARP, SUMS * lanes)
    small = problem.rows * most_lanes <= SMALL_THREADS and problem.rows * cols <= SMALL_ELEMENTS
    direct = small and "s" not in numbers
    if lanes <= WARP:
        if direct:
            lanes, sums = most_lanes, SUMS * lanes // most_lanes
        # rounded up to an even number, so that half as many kernels serve all lengths
        rows, per_lane = THREADS // lanes, 2 * ceil_div(cols, 2 * lanes)
    else:
        lanes, per_lane = WARP, WARPS_LANE_BYTES // itemsize
        warps = ceil_div(cols, WARP * per_lane)
        if warps > MAX_WARPS:
            return ()
    sizes = per_lane, lanes, warps, sums
    kernel = instantiate_for("frontier_packed", problem, *sizes, epilogues=TILE_EPILOGUES)
    # two more, because a run may begin and end inside a vector
    shared = (rows * cols * itemsize // VEC_BYTES + 2) * VEC_BYTES
    launched = SOURCE, kernel, lanes * warps * rows, ceil_div(problem.rows, rows), shared
    return (LaunchPlan(*launched, extra_args=(int(direct),)),)


with_config = functools.partial(launch.configured_kernel, plan)
softmax, log_softmax, unsupported = launch.functions(plan)
