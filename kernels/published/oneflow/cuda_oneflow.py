"""OneFlow's softmax: the first of its three kernels that can hold the row.

Idea: rows up to N = 1024 take the registers of a warp. Longer rows take shared memory if a float32
row fits, else three passes over global memory.
Bytes: 2·M·N·itemsize; beyond shared memory as ``cuda_oneflow_uncached``.
Limits: compute capability 8.0; none on N.
Source: OneFlow, described by BBuf (2023) with its numbers on an A100-PCIE-40GB.

Performance explained in: docs/explanation/why_kernels_differ.md#bytes-moved
"""

from ...cuda import launch
from ...cuda.plan import LaunchPlan, Problem
from . import cuda_oneflow_smem, cuda_oneflow_uncached, cuda_oneflow_warp

KERNELS = cuda_oneflow_warp, cuda_oneflow_smem, cuda_oneflow_uncached


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the instances of the first kernel that has any; see ``plan.Planner``."""
    return next(plans for kernel in KERNELS if (plans := kernel.plan(problem)))


softmax, log_softmax, unsupported = launch.functions(plan)
