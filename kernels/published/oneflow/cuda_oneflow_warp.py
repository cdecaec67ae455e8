"""OneFlow's softmax for short rows: each row in the registers of a warp, or of a part of one.

Idea: no shared memory and no barrier. Each lane holds its columns of a row, moved in packs of 4, 2
or 1. Max and sum are butterflies of shuffles. A row of at most one pack per lane takes a
power-of-two number of lanes, and two rows at once if M is even. Blocks of 128 threads stride over
the rows.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 1024, because a lane holds at most 32 columns; compute capability 8.0.
Source: OneFlow, described by BBuf (2023) with its numbers on an A100-PCIE-40GB.

Performance explained in: docs/explanation/why_kernels_differ.md#small-matrices
"""

from pathlib import Path

from ...cuda import launch
from ...cuda.plan import WARP, LaunchPlan, Problem, ceil_div, instantiate_for, next_power_of_2

SOURCE = Path(__file__).with_suffix(".cu")
MAX_COLS = 1024
THREADS = 128  # per block
# OneFlow's limits, for its three kernels. A launch has blocks for at most 32 times the threads of
# the GPU. Each block strides over rows, so more blocks would only cost their start.
WAVES = 32
MAX_PACK = 4


def pack_of(problem: Problem) -> int:
    """Return the elements that one load or store moves."""
    return min(problem.pack, MAX_PACK)


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    if problem.cols > MAX_COLS:
        return ()
    pack = pack_of(problem)
    packs = ceil_div(problem.cols, pack)
    lanes = min(WARP, next_power_of_2(packs))
    per_lane = ceil_div(packs, lanes) * pack
    lane_rows = 2 if per_lane == pack and problem.rows % 2 == 0 else 1
    full = per_lane * lanes == problem.cols
    sizes = pack, per_lane, lanes, lane_rows, full, THREADS
    name = instantiate_for("oneflow_warp", problem, *sizes)
    blocks = ceil_div(problem.rows, THREADS // lanes * lane_rows)
    return (LaunchPlan(SOURCE, name, THREADS, blocks, waves=WAVES),)


LIMIT = f"a warp's registers hold rows of at most {MAX_COLS} columns"
softmax, log_softmax, unsupported = launch.functions(plan, limit=LIMIT)
