"""OneFlow's softmax for rows of medium length: each row in a block's shared memory.

Idea: the row is read once, in packs of 4, 2 or 1, into shared memory as float32. Packs are stored
element by element, so that a warp never hits a bank twice. Then come a block reduction for the
maximum, exp in place, a block reduction for the sum, and the output. The block size is the largest
of 128, 256, 512 and 1024 threads that does not reduce the number of resident blocks. Blocks stride
over the rows.
Bytes: 2·M·N·itemsize, the least possible.
Limits: a float32 row must fit in a block's shared memory (N up to about 58,000 on an H100 or H200,
41,700 on an A100); compute capability 8.0.
Source: OneFlow, described by BBuf (2023) with its numbers on an A100-PCIE-40GB.

Performance explained in: docs/explanation/why_kernels_differ.md#bytes-moved
"""

from pathlib import Path

from ...cuda import launch
from ...cuda.plan import WARP, LaunchPlan, Problem, instantiate_for
from .cuda_oneflow_warp import WAVES, pack_of

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = (128, 256, 512, 1024)  # each warp has a maximum and a sum in shared memory, too


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return an instance for every size of block that can hold the row; see ``plan.Planner``."""
    plans, row_bytes = [], 4 * problem.cols
    for threads in THREADS:
        if row_bytes + 2 * 4 * threads // WARP <= problem.gpu.max_shared_per_block:
            kernel = instantiate_for("oneflow_smem", problem, pack_of(problem), threads)
            plans.append(LaunchPlan(SOURCE, kernel, threads, problem.rows, row_bytes, WAVES))
    return tuple(plans)


LIMIT = "a row in float32 must fit in the shared memory of a block"
softmax, log_softmax, unsupported = launch.functions(plan, limit=LIMIT)
