"""Short rows: a part of a warp holds a row.

Idea: lanes hold their part of a row in units of up to 16 bytes; maximum and sum are butterflies of
shuffles inside the part of the warp, with no barrier. Elements go through exp once, and are then
only scaled.
Bytes: 2·M·N·itemsize, the least possible.
Limits: 4 units for each of 32 lanes: N up to 512 in float32 and 1024 in 16 bits where a row is
whole words of 16 bytes, 128 for an odd N, whose units are single elements. Compute capability 8.0.
Source: the layout of OneFlow's warp kernel (BBuf, 2023), with wider packs.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.nvrtc import VEC_BYTES, Call, LaunchPlan
from ._tiling import WARP, name

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 128  # kThreads in the source
MAX_UNITS = 4  # of a lane
# u: units of a lane, fewer where the row has not so many.
CONFIGS = ("u1", "u2")
DEFAULT_CONFIG = "u1"


def layout(cols: int, itemsize: int, units: int) -> tuple[int, int, int] | None:
    """(elements of a unit, units of a lane, lanes) of a row; None where it is too long.

    By the row's length and type alone, not by where it lies. ``units``: of a lane, if they do.
    """
    unit = min(cols & -cols, VEC_BYTES // itemsize)
    of_row = -(-cols // unit)
    lanes = min(WARP, 1 << (-(-of_row // units) - 1).bit_length())
    per_lane = -(-of_row // lanes)
    return None if per_lane > MAX_UNITS else (unit, per_lane, lanes)


def plan(call: Call, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    found = layout(call.cols, call.dtype.itemsize, int(config[1]))
    if found is None:
        return ()
    unit, per_lane, lanes = found
    whole = per_lane * lanes * unit == call.cols
    kernel = name("frontier_short", call, unit, call.pack, per_lane, lanes, whole,
                  log="LogSoftmax", normal="Softmax")  # fmt: skip
    blocks = -(-call.rows // (THREADS // lanes))
    return (LaunchPlan(SOURCE, kernel, THREADS, blocks),)


with_config = functools.partial(launch.functions, plan)
softmax, log_softmax, unsupported = with_config(DEFAULT_CONFIG)[:3]
