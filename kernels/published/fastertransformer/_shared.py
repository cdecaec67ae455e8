"""Share the host code of FasterTransformer's softmax kernels."""

import functools
from pathlib import Path

from ...cuda import launch
from ...cuda.plan import TYPES, WARP, LaunchPlan, Problem, ceil_div, instantiate, next_power_of_2

SOURCE = Path(__file__).with_name("fastertransformer.cu")
MAX_COLS = 1024
functions = functools.partial(
    launch.functions, limit=f"one thread per column allows at most {MAX_COLS} columns"
)


def plan_of(problem: Problem, block_rows: int) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length, with ``block_rows`` rows for each block."""
    if problem.cols > MAX_COLS or problem.log:
        return ()
    threads = max(WARP, next_power_of_2(problem.cols))
    kernel = instantiate("fastertransformer", TYPES[problem.dtype], threads)
    blocks = ceil_div(problem.rows, block_rows)
    return (LaunchPlan(SOURCE, kernel, threads, blocks, extra_args=(block_rows,)),)
