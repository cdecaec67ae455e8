"""The fastest of this project's kernels for each row length.

Idea: a short row takes several lanes of a warp. Longer rows take a warp, a block or a cluster. The
longest take all blocks of the GPU. Rows whose size is not a multiple of 16 bytes use other
thresholds. RULE chooses by N and the dtype, never by M, so a row gives the same bits in any batch.
A 16-bit x with float32 output is tiled like a float32 row, so the bits are those of casting first.
Bytes: 2·M·N·itemsize, the least possible, up to rows that the GPU cannot hold at once.
Limits: N up to 2^30. Compute capability 9.0; for rows of at most 80 KiB 8.0 is enough.
Source: our own. Parts: ``frontier_short``; for unaligned rows ``frontier_packed``; for both
``frontier_rows``, ``frontier_staged`` and ``frontier_spread``.
"""

import math
from collections.abc import Iterator

from ..contract import VEC_BYTES, split_config
from ..cuda import launch
from ..cuda.plan import LaunchPlan, Problem
from . import frontier_packed, frontier_rows, frontier_short, frontier_spread, frontier_staged

MODULES = frontier_short, frontier_packed, frontier_rows, frontier_spread, frontier_staged
PARTS = {module.SOURCE.stem: module for module in MODULES}
KIB, MIB = 2**10, 2**20
# The keys say whether a row's bytes are a multiple of a vector, and give the bytes of an element.
# The entries (bytes of a row, at most; variant) are tried in order, and one that refuses a row is
# skipped.
# Chosen by the timings of an H100 and an H200 together: studies/dispatch.py prints what the rule
# loses on each. More bandwidth for each multiprocessor wants more bytes in flight, so where the two
# differ, the entry is the H200's if the H100 loses little by it. Where large and small matrices
# differ, it is mostly that of matrices beyond L2: at small ones the others save little time.
# Most limits are where a config's cluster would double, because that is slow just beyond.
RULE = {
    (True, 2): (
        (512, "frontier_short__u2"),  # shuffles in a part of a warp
        (560, "frontier_packed__k20"),
        (1.5 * KIB, "frontier_rows__k4w16"),  # a warp
        (24 * KIB, "frontier_rows__k2w16"),  # few registers a lane, so most warps are resident
        (32 * KIB, "frontier_rows__k2w8"),
        (40 * KIB, "frontier_rows__k2w16"),
        (56 * KIB, "frontier_rows__k4w8"),
        (64 * KIB, "frontier_rows__k8w4"),  # fewer warps meet
        (128 * KIB, "frontier_rows__k4w8"),
        (144 * KIB, "frontier_rows__k4w16"),
        (256 * KIB, "frontier_rows__k8w8"),
        (320 * KIB, "frontier_staged__k5w8"),
        (512 * KIB, "frontier_rows__k8w8r"),  # r: half the registers
        (600 * KIB, "frontier_staged__k5w16"),
        (math.inf, "frontier_spread__k4w8"),
    ),
    (True, 4): (
        (64, "frontier_short__u1"),  # a lane has one vector
        (3.25 * KIB, "frontier_short__u2"),
        (26 * KIB, "frontier_rows__k2w16"),
        (32 * KIB, "frontier_rows__k2w8"),
        (352 * KIB, "frontier_rows__k4w8"),
        (512 * KIB, "frontier_rows__k8w8"),
        (784 * KIB, "frontier_rows__k8w16"),
        (1.05 * MIB, "frontier_spread__k4w8"),
        (1.3 * MIB, "frontier_staged__k10w16"),
    ),
    # No register of a staged row holds an element, so the most warps are resident. Fewest vectors a
    # lane, as long as a cluster of 16 blocks holds the row.
    (False, 2): (
        (1.3 * KIB, "frontier_packed__k24"),
        (2.2 * KIB, "frontier_rows__k8w16"),
        (4.4 * KIB, "frontier_staged__k4w16"),
        (32 * KIB, "frontier_rows__k4w8"),
        (40 * KIB, "frontier_staged__k5w8"),
        (64 * KIB, "frontier_staged__k4w8"),
        (160 * KIB, "frontier_staged__k5w8"),
        (224 * KIB, "frontier_staged__k4w16"),
        (320 * KIB, "frontier_staged__k5w8"),
        (640 * KIB, "frontier_staged__k5w16"),
        (912 * KIB, "frontier_staged__k10w16"),
        (math.inf, "frontier_spread__k4w8"),
    ),
    (False, 4): (
        (1.3 * KIB, "frontier_packed__k16"),
        (2.9 * KIB, "frontier_packed__k24"),
        (80 * KIB, "frontier_rows__k4w8"),
        (128 * KIB, "frontier_staged__k4w8"),
        (160 * KIB, "frontier_staged__k5w8"),
        (224 * KIB, "frontier_staged__k5w16"),
        (320 * KIB, "frontier_staged__k5w8"),
        (650 * KIB, "frontier_staged__k5w16"),
        (1.2 * MIB, "frontier_spread__k4w8"),
    ),
}
# All other rows: fewer states to poll, and more bytes in flight. Then, without clusters, the
# longest rows of a block.
LAST_RESORTS = f"frontier_spread__{frontier_spread.DEFAULT_CONFIG}", "frontier_staged__k10w16"


def choices(cols: int, itemsize: int, rule: dict = RULE) -> Iterator[str]:
    """Generate variants that may take a row of ``cols`` elements, the best first."""
    row_bytes = cols * itemsize
    for longest, variant in rule[row_bytes % VEC_BYTES == 0, itemsize]:
        if row_bytes <= longest:
            yield variant
    yield from LAST_RESORTS


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the launch plan of the first choice that takes the row; see ``plan.Planner``."""
    for variant in choices(problem.cols, problem.dtype.itemsize):
        part, config = split_config(variant)
        if plans := PARTS[part].plan(problem, config):
            return plans
    return ()


softmax, log_softmax, unsupported = launch.functions(plan)
