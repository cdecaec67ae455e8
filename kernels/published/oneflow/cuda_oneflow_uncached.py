"""OneFlow's softmax for rows of any length: a block reads its row three times.

Idea: nothing is kept. Max, sum and output each read the row from global memory in packs of 4, 2 or
1. The second and third pass are cheap if all rows in flight fit in L2. Blocks of 1024 threads
stride over the rows.
Bytes: 2·M·N·itemsize where the caches keep the row, up to 4·M·N·itemsize where they do not.
Limits: compute capability 8.0; none on N.
Source: OneFlow, described by BBuf (2023) with its numbers on an A100-PCIE-40GB.

Performance explained in: docs/explanation/why_kernels_differ.md#bytes-moved
"""

from pathlib import Path

from ...cuda import launch
from ...cuda.plan import LaunchPlan, Problem, instantiate_for
from .cuda_oneflow_warp import WAVES, pack_of

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 1024


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the only instance; see ``plan.Planner``."""
    name = instantiate_for("oneflow_uncached", problem, pack_of(problem), THREADS)
    return (LaunchPlan(SOURCE, name, THREADS, problem.rows, waves=WAVES),)


softmax, log_softmax, unsupported = launch.functions(plan)
