"""FasterTransformer's softmax for large batches: one block for the rows of a (batch, head) pair.

Idea: each thread handles one column. Every row takes a block reduction for the maximum and one for
the sum, to which 1e-6 is added. The source's input is (batch·heads, seq, seq), so a matrix (M, N)
is groups of N rows. The last group is short if N does not divide M. The attention mask is left out
and the scale is 1. A reduction costs one barrier here.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 1024, the threads of a block; M of at most (2^31 - 1)·N; compute capability 8.0.
Source: NVIDIA FasterTransformer 1.0, described by BBuf (2023), A100-PCIE-40GB.

Performance explained in: docs/explanation/why_kernels_differ.md#small-matrices
"""

from ...cuda.plan import LaunchPlan, Problem
from ._shared import functions, plan_of


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    return plan_of(problem, block_rows=problem.cols)


softmax, _, unsupported = functions(plan)
