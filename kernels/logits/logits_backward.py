"""Compute the gradients with respect to logits, element by element.

Idea: the forward saved each row's maximum and the log of its sum, so an element's gradient needs
this element alone: no block waits for another, and dx may take the place of x.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 2^30. Compute capability 8.0.
Source: the derivatives of log-sum-exp, log-softmax and entropy.
"""

from pathlib import Path

from ..cuda.plan import TYPES, VEC_BYTES, LaunchPlan, Problem, ceil_div, instantiate

SOURCE = Path(__file__).with_suffix(".cu")
PER_THREAD, THREADS = 4, 256  # vectors


def blocks_of_a_row(problem: Problem) -> int:
    """Return how many blocks share a row."""
    # a row that begins inside a vector has one more
    vectors = ceil_div(problem.cols * problem.dtype.itemsize, VEC_BYTES) + 1
    return ceil_div(vectors, PER_THREAD * THREADS)


def plan(problem: Problem, operation: str) -> tuple[LaunchPlan, ...]:
    """Return the instance of an operation of the source; see ``plan.Planner``."""
    kernel = instantiate("logits_backward", TYPES[problem.dtype], operation, PER_THREAD, THREADS)
    row_blocks = blocks_of_a_row(problem)
    blocks = problem.rows * row_blocks
    return (LaunchPlan(SOURCE, kernel, THREADS, blocks, extra_args=(row_blocks,)),)
