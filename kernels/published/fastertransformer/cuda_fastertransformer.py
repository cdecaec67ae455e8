"""FasterTransformer's softmax: one of two kernels, by the number of (batch, head) pairs.

Idea: ``cuda_fastertransformer_v2`` where batch·heads (M / N, rounded up) is at most 120, else
``cuda_fastertransformer_v1``.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 1024; M of at most (2^31 - 1)·N; compute capability 8.0.
Source: NVIDIA FasterTransformer 1.0, described by BBuf (2023), A100-PCIE-40GB.

Performance explained in: docs/explanation/why_kernels_differ.md#small-matrices
"""

from ...cuda.plan import LaunchPlan, Problem
from . import cuda_fastertransformer_v1, cuda_fastertransformer_v2
from ._shared import functions

FEW = 120  # FasterTransformer's threshold


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the instance of the chosen kernel; see ``plan.Planner``."""
    few = problem.rows <= FEW * problem.cols
    return (cuda_fastertransformer_v2 if few else cuda_fastertransformer_v1).plan(problem)


softmax, _, unsupported = functions(plan)
