"""Choose the fastest of this project's kernels for each length of row.

Idea: a short row takes several lanes of a warp. Longer rows take a warp, a block or a cluster. The
longest take all blocks of the GPU. Rows whose bytes are no multiple of 16 have other kernels. The
tuning table of this GPU, or of one like it, chooses (``_tuning``), else a rule of thumb.
The choice depends on N and the dtype, never on M, so a row gives the same bits in any batch.
Bytes: 2·M·N·itemsize, the least possible, up to rows that the GPU cannot hold at once.
Limits: N up to 2^30. Compute capability 9.0. For rows of at most 32 KiB 8.0 is enough, and for rows
of at most 64 KiB whose bytes are no multiple of 16.
Source: ``frontier_short``, ``frontier_rows`` and ``frontier_spread``; for unaligned rows
``frontier_packed`` and ``frontier_staged``.
"""

from collections.abc import Iterator

from ..contract import split_config
from ..cuda import launch
from ..cuda.plan import LaunchPlan, Problem
from . import frontier_packed, frontier_rows, frontier_short, frontier_spread, frontier_staged
from ._tiling import is_vector_multiple
from ._tuning import candidates

MODULES = frontier_short, frontier_packed, frontier_rows, frontier_spread, frontier_staged
PARTS = {module.SOURCE.stem: module for module in MODULES}
# The rule of thumb for rows that no variant of a table takes: (most bytes of a row, variant). The
# key says whether the bytes are a multiple of a vector.
RULE = {
    True: ((1024, "frontier_short"), (512 * 1024, "frontier_rows")),
    False: (
        (2048, "frontier_packed"),
        (12 * 1024, "frontier_rows"),
        (512 * 1024, "frontier_staged"),
        (64 * 1024, "frontier_staged__k8w16"),  # the most that one block takes
    ),
}


def choices(problem: Problem) -> Iterator[str]:
    """Generate variants that may take the row, the best first; the last takes almost any."""
    yield from candidates(problem)
    row_bytes = problem.cols * problem.dtype.itemsize
    for max_bytes, name in RULE[is_vector_multiple(problem)]:
        if row_bytes <= max_bytes:
            yield name
    yield "frontier_spread"


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the launch plan of the first choice that takes the row; see ``plan.Planner``."""
    for variant in choices(problem):
        part, config = split_config(variant)
        if plans := PARTS[part].plan(problem, config or PARTS[part].DEFAULT_CONFIG):
            return plans
    return ()


softmax, log_softmax, unsupported = launch.functions(plan)
