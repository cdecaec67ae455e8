"""Choose the fastest of this project's kernels for each length of row.

Idea: a short row takes several lanes of a warp. Longer rows take a warp, a block or a cluster. The
longest take all blocks of the GPU. Rows whose bytes are no multiple of 16 have other borders.
RULE chooses by N and the dtype, never by M, so a row gives the same bits in any batch.
A 16-bit x whose output is float32 is divided as float32, and gives the bits of a cast before.
Bytes: 2·M·N·itemsize, the least possible, up to rows that the GPU cannot hold at once.
Limits: N up to 2^30. Compute capability 9.0; for rows of at most 80 KiB 8.0 is enough.
Source: ``frontier_short``; for unaligned rows ``frontier_packed``; for both ``frontier_rows``,
``frontier_staged`` and ``frontier_spread``.
"""

from collections.abc import Iterator

from ..contract import VEC_BYTES, split_config
from ..cuda import launch
from ..cuda.plan import LaunchPlan, Problem
from . import frontier_packed, frontier_rows, frontier_short, frontier_spread, frontier_staged

MODULES = frontier_short, frontier_packed, frontier_rows, frontier_spread, frontier_staged
PARTS = {module.SOURCE.stem: module for module in MODULES}
KIB, MIB = 2**10, 2**20
# (most bytes of a row, variant), or (…, bytes of an element) where the other size has another. The
# key says whether a row's bytes are a multiple of a vector. A config that refuses a row leaves it
# to the next entry. Chosen by the timings of an H100: studies/dispatch.py prints what the rule
# loses there.
RULE = {
    True: (
        (64, "frontier_short__u1"),  # a lane has one vector
        (1792, "frontier_short__u2"),  # shuffles in a warp; longer rows fill two
        (2 * KIB, "frontier_short__u2", 4),
        (4 * KIB, "frontier_rows__k1w16"),  # one vector a lane has the shortest latency
        (64 * KIB, "frontier_rows__k2w16"),  # few registers a lane, so most warps are resident
        (256 * KIB, "frontier_rows__k4w8"),  # half as many warps meet
        # Longer rows need more vectors a lane. Staged ones take no registers, but compute exp
        # twice; 16 bits have twice the exps.
        (320 * KIB, "frontier_staged__k5w8"),
        (512 * KIB, "frontier_rows__k8w8r", 2),  # r: half the registers
        (512 * KIB, "frontier_staged__k5w16"),
        (768 * KIB, "frontier_rows__k8w16", 4),
        (1.5 * MIB, "frontier_spread__k4w8"),  # small tiles: a row takes more of the GPU
        (1.5 * MIB, "frontier_staged__k10w16"),  # where only a block can share a row
        (2 * MIB, "frontier_spread__k4w8", 2),
    ),
    False: (
        (1280, "frontier_packed__k20"),
        (1.5 * KIB, "frontier_packed__k24", 2),  # a warp in place of two
        (5 * KIB, "frontier_packed__k20"),
        (16 * KIB, "frontier_packed__k20", 4),
        (16 * KIB, "frontier_rows__k2w16", 2),
        (128 * KIB, "frontier_rows__k4w8"),
        # No register holds an element, so the most warps are resident. Fewest vectors a lane, as
        # long as a cluster of 16 blocks holds the row.
        (256 * KIB, "frontier_staged__k4w8"),
        (320 * KIB, "frontier_staged__k5w8"),
        (640 * KIB, "frontier_staged__k5w16"),
        (1.5 * MIB, "frontier_spread__k4w8"),
        (1.5 * MIB, "frontier_staged__k10w16"),
        (2 * MIB, "frontier_spread__k4w8", 2),
    ),
}
# For all other rows: fewer states to poll, and more bytes in flight.
LAST_RESORT = f"frontier_spread__{frontier_spread.DEFAULT_CONFIG}"


def choices(cols: int, itemsize: int, rule: dict = RULE) -> Iterator[str]:
    """Generate variants that may take a row of ``cols`` elements, the best first."""
    row_bytes = cols * itemsize
    for most, variant, *only in rule[row_bytes % VEC_BYTES == 0]:
        if row_bytes <= most and itemsize in (only or (itemsize,)):
            yield variant
    yield LAST_RESORT


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the launch plan of the first choice that takes the row; see ``plan.Planner``."""
    for variant in choices(problem.cols, problem.dtype.itemsize):
        part, config = split_config(variant)
        if plans := PARTS[part].plan(problem, config):
            return plans
    return ()


softmax, log_softmax, unsupported = launch.functions(plan)
