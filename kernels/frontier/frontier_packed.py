"""Pass short contiguous rows of any N through shared memory as one run.

Idea: unaligned rows would be loaded 2 or 4 bytes at a time. Contiguous rows are one run of memory,
so a block loads the run in 16-byte vectors, whatever rows they belong to. In shared memory, part of
a warp, a warp or all warps of the block share a row, and each lane reads a strided subset of its
elements into registers. Each element goes through exp once. The output replaces the elements in
shared memory. It is stored in vectors, except at both ends of the run. Lanes access the elements of
non-contiguous rows in global memory, and of small matrices where 8 lanes or more share a row; that
changes no sum.
Bytes: 2·M·N·itemsize, the least possible.
Limits: 16 warps of 16 elements a lane, N up to 8192; k20 in proportion. Compute capability 8.0.
Source: our own.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, instantiate_for
from ._tiling import TILE_EPILOGUES, lanes_of, parse

ON_REQUEST = True  # ``frontier`` is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 128  # per block, where a row has at most a warp
MAX_WARPS = 16  # of a row
# Bytes of an element -> of a matrix whose time is that of one wave of blocks, which barriers delay
# more than accesses to single elements do. Found on an H100.
SMALL_BYTES = {2: 2 * 2**20, 4: 8 * 2**20}
MIN_COALESCED = 8  # lanes of a row; fewer use little of each sector that they access
# k: most elements of a lane. s: rows pass through shared memory in small matrices, too.
CONFIGS = ("k16", "k16s", "k20")
DEFAULT_CONFIG = "k16"


def plan(problem: Problem, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    numbers, itemsize = parse(config), problem.dtype.itemsize
    per_lane, warps = numbers["k"], 1
    lanes = lanes_of(problem.cols, per_lane)
    if lanes <= WARP:
        # even, so that half as many kernels serve all lengths
        rows, per_lane = THREADS // lanes, 2 * ceil_div(problem.cols, 2 * lanes)
    else:
        rows, lanes, warps = 1, WARP, ceil_div(problem.cols, WARP * per_lane)
        if warps > MAX_WARPS:
            return ()
    sizes = per_lane, lanes, warps, rows
    kernel = instantiate_for("frontier_packed", problem, *sizes, epilogues=TILE_EPILOGUES)
    # the vectors at both ends of a run belong to it in part
    shared = (rows * problem.cols * itemsize // VEC_BYTES + 2) * VEC_BYTES
    small = problem.rows * problem.cols * itemsize <= SMALL_BYTES[itemsize]
    direct = small and lanes >= MIN_COALESCED and "s" not in numbers
    launched = SOURCE, kernel, lanes * warps * rows, ceil_div(problem.rows, rows), shared
    return (LaunchPlan(*launched, extra_args=(int(direct),)),)


with_config = functools.partial(launch.configured, plan)
softmax, log_softmax, unsupported = launch.functions(plan)
