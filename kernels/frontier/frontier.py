"""The fastest of ours for each length of row.

Idea: short rows take parts of warps, longer ones a warp, a block, or the blocks of a cluster, in
registers or in shared memory, and the longest all blocks of the GPU; rows that are not whole words
of 16 bytes have kernels of their own. The choice is that of the table that a sweep has
left for this GPU or one of its kind (``_tuning``), or a rule of thumb. It depends on N and the
type, never on M, so that a row gives the same bits in any batch.
Bytes: 2·M·N·itemsize, the least possible, up to rows that the GPU cannot hold at once.
Limits: N up to 2^30; compute capability 9.0, or 8.0 for rows of 32 KiB and less, 64 KiB where they
are not whole words.
Source: ``frontier_short``, ``frontier_rows`` and ``frontier_spread``; for rows that begin anywhere
``frontier_packed`` and ``frontier_staged``.
"""

from .. import split
from ..cuda import launch
from ..cuda.nvrtc import Call, LaunchPlan
from . import (
    _tuning,
    frontier_packed,
    frontier_rows,
    frontier_short,
    frontier_spread,
    frontier_staged,
)
from ._tiling import is_vector_multiple

PARTS = {
    "frontier_short": frontier_short,
    "frontier_packed": frontier_packed,
    "frontier_rows": frontier_rows,
    "frontier_spread": frontier_spread,
    "frontier_staged": frontier_staged,
}
# (bytes of a row up to which, what): a rule of thumb for where no table has a choice that takes the
# row, by whether rows are whole words.
RULE = {
    True: ((1024, "frontier_short"), (512 * 1024, "frontier_rows")),
    False: (
        (2048, "frontier_packed"),
        (12 * 1024, "frontier_rows"),
        (512 * 1024, "frontier_staged"),
        (64 * 1024, "frontier_staged__k8w16"),  # the most that a block takes, without clusters
    ),
}


def choices(call: Call) -> list[str]:
    """Variants that may take a row like this, the best first; the last takes almost any."""
    return [*_tuning.candidates(call), *by_rule(call)]


def by_rule(call: Call) -> list[str]:
    """``choices`` where no table has any."""
    row_bytes = call.cols * call.dtype.itemsize
    return [name for most, name in RULE[is_vector_multiple(call)] if row_bytes <= most] + [
        "frontier_spread"
    ]


def plan(call: Call) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    return taken(choices(call), call)[1]


def taken(variants: list[str], call: Call) -> tuple[str, tuple[LaunchPlan, ...]]:
    """Return the first that takes the row, with its config, and its plan; "" and () if none."""
    for variant in variants:
        part, config = split(variant)
        config = config or PARTS[part].DEFAULT_CONFIG
        if specs := PARTS[part].plan(call, config):
            return f"{part}__{config}", specs
    return "", ()


softmax, log_softmax, unsupported = launch.functions(plan)[:3]
