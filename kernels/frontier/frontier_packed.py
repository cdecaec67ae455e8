"""Pass short contiguous rows of any N through shared memory as one run.

Idea: unaligned rows would be loaded 2 or 4 bytes at a time. Contiguous rows are one run of memory,
so a block loads the run in 16-byte vectors, whatever rows they belong to. In shared memory, one or
more lanes share a row and read its elements into registers. Each element goes through exp once.
The output replaces the elements in shared memory. It is stored in vectors, except at both ends of
the run. Non-contiguous rows are loaded and stored element by element.
Bytes: 2·M·N·itemsize, the least possible.
Limits: 32 lanes of 32 elements, N up to 1024. Compute capability 8.0.
Source: our own.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, instantiate_for
from ._tiling import TILE_EPILOGUES, lanes_of, parse

ON_REQUEST = True  # ``frontier`` is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 128  # per block
CONFIGS = ("k8", "k16", "k20", "k32")  # k: most elements of a lane
DEFAULT_CONFIG = "k32"


def plan(problem: Problem, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    lanes = lanes_of(problem.cols, parse(config)["k"])
    if lanes > WARP:
        return ()
    sizes = ceil_div(problem.cols, lanes), lanes, THREADS
    kernel = instantiate_for("frontier_packed", problem, *sizes, epilogues=TILE_EPILOGUES)
    rows = THREADS // lanes  # of a block
    # the vectors at both ends of a run belong to it in part
    vectors = rows * problem.cols * problem.dtype.itemsize // VEC_BYTES + 2
    blocks = ceil_div(problem.rows, rows)
    return (LaunchPlan(SOURCE, kernel, THREADS, blocks, shared_bytes=vectors * VEC_BYTES),)


with_config = functools.partial(launch.configured, plan)
softmax, log_softmax, unsupported = launch.functions(plan)
