"""Each short row shared by several lanes of a warp.

Idea: 1 to 32 lanes of a warp share a row, and each holds up to four units of at most 16 bytes in
registers. Maximum and sum are butterfly shuffles between these lanes, without shared memory or a
barrier. Softmax computes each exp once and then scales it.
Bytes: 2·M·N·itemsize, the minimum.
Limits: 32 lanes of 4 units. If a row is a multiple of 16 bytes, N is at most 512 in float32 and
1024 in 16 bits. An odd N is at most 128, as a unit is then one element. Compute capability 8.0.
Source: the layout of OneFlow's warp kernel (BBuf, 2023), with wider packs.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.plan import VEC_BYTES, WARP, LaunchPlan, Problem, ceil_div, instantiate_for
from ._tiling import TILE_EPILOGUES, lanes_of, parse

ON_REQUEST = True  # ``frontier`` is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 128  # per block
MAX_UNITS = 4  # units per lane, at most
# u: most units per lane as long as the row takes fewer than 32 lanes.
CONFIGS = ("u1", "u2")
DEFAULT_CONFIG = "u1"


def layout(cols: int, itemsize: int, per_lane: int) -> tuple[int, int, int] | None:
    """Return (elements per unit, units per lane, lanes per row); None if the row is too long.

    The row's address plays no part. A row too long for 32 lanes of ``per_lane`` units gets up to
    MAX_UNITS units per lane.
    """
    unit = min(cols & -cols, VEC_BYTES // itemsize)
    units = ceil_div(cols, unit)
    lanes = min(WARP, lanes_of(units, per_lane))
    per_lane = ceil_div(units, lanes)
    return None if per_lane > MAX_UNITS else (unit, per_lane, lanes)


def plan(problem: Problem, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    sizes = layout(problem.cols, problem.dtype.itemsize, parse(config)["u"])
    if sizes is None:
        return ()
    unit, per_lane, lanes = sizes
    full = per_lane * lanes * unit == problem.cols
    sizes = unit, problem.pack, per_lane, lanes, full, THREADS
    kernel = instantiate_for("frontier_short", problem, *sizes, epilogues=TILE_EPILOGUES)
    blocks = ceil_div(problem.rows, THREADS // lanes)
    return (LaunchPlan(SOURCE, kernel, THREADS, blocks),)


with_config = functools.partial(launch.configured_kernel, plan)
softmax, log_softmax, unsupported = launch.functions(plan)
