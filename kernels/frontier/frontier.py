"""The fastest of this project's kernels for each row length.

Idea: this file holds no kernel. It picks one of five others by the size of a row: a short row
shares a warp with other rows; a longer one gets a warp, a thread block or a cluster; the longest
rows are spread over all the blocks that the GPU can hold. Rows whose size is not a multiple of
16 bytes cannot be loaded in aligned vectors from their first element, and have thresholds of their
own. RULE looks at N and the dtype and never at M, so a row gives the same bits in any batch. A
16-bit x with float32 output is tiled like a float32 row, so its bits are those of casting x first.
Bytes: 2·M·N·itemsize, the minimum, as long as the GPU can hold a row on chip.
Limits: N up to 2^30. Compute capability 9.0; 8.0 is enough for rows of at most 80 KiB.
Source: our own. The kernels are ``frontier_short`` (aligned rows), ``frontier_packed`` (unaligned
rows), and ``frontier_rows``, ``frontier_staged`` and ``frontier_spread`` (both).
Use: ``pip install .`` in a clone; ``from softmax_bench import softmax, log_softmax``.
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
# Thresholds, by (whether a row is a whole number of 16-byte vectors, bytes per element). Entries
# are (largest row in bytes, variant), tried in order; a variant that refuses the row is skipped.
#
# The entries were fitted to timings of an H100 and an H200 together; studies/dispatch.py prints
# what the rule loses on each. The H200 has more bandwidth per multiprocessor and needs more bytes
# in flight, so where the two GPUs disagree, the entry is the H200's if it costs the H100 little.
# Where small and large matrices disagree, those beyond L2 mostly decide: small ones gain little.
# Most thresholds are where a config's cluster would double, because it is slow just beyond.
RULE = {
    (True, 2): (
        (512, "frontier_short__u2"),  # part of a warp, reduced by shuffles
        (560, "frontier_packed__k20"),
        (1.5 * KIB, "frontier_rows__k4w16"),  # one warp per row
        (24 * KIB, "frontier_rows__k2w16"),  # few registers per lane, for occupancy
        (32 * KIB, "frontier_rows__k2w8"),
        (40 * KIB, "frontier_rows__k2w16"),
        (56 * KIB, "frontier_rows__k4w8"),
        (64 * KIB, "frontier_rows__k8w4"),  # fewer warps exchange states
        (128 * KIB, "frontier_rows__k4w8"),
        (144 * KIB, "frontier_rows__k4w16"),
        (256 * KIB, "frontier_rows__k8w8"),
        (320 * KIB, "frontier_staged__k5w8"),
        (512 * KIB, "frontier_rows__k8w8r"),  # r recomputes exp, in half the registers
        (600 * KIB, "frontier_staged__k5w16"),
        (math.inf, "frontier_spread__k4w8"),
    ),
    (True, 4): (
        (64, "frontier_short__u1"),  # one vector per lane
        (3.25 * KIB, "frontier_short__u2"),
        (26 * KIB, "frontier_rows__k2w16"),
        (32 * KIB, "frontier_rows__k2w8"),
        (352 * KIB, "frontier_rows__k4w8"),
        (512 * KIB, "frontier_rows__k8w8"),
        (784 * KIB, "frontier_rows__k8w16"),
        (1.05 * MIB, "frontier_spread__k4w8"),
        (1.3 * MIB, "frontier_staged__k10w16"),
    ),
    # frontier_staged keeps no elements in registers, so its occupancy is the highest. Its entries
    # have the fewest vectors per lane with which a cluster of 16 blocks still holds the row.
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
# Variants for all other rows: the config of frontier_spread with more vectors per lane, so that
# fewer blocks exchange states and more bytes are in flight; and, for GPUs without clusters, the
# variant whose single block holds the longest row.
LAST_RESORTS = f"frontier_spread__{frontier_spread.DEFAULT_CONFIG}", "frontier_staged__k10w16"


def choices(cols: int, itemsize: int, rule: dict = RULE) -> Iterator[str]:
    """Generate the variants that may take a row of ``cols`` elements, in order of preference."""
    row_bytes = cols * itemsize
    for longest, variant in rule[row_bytes % VEC_BYTES == 0, itemsize]:
        if row_bytes <= longest:
            yield variant
    yield from LAST_RESORTS


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the launch plan of the first choice that accepts the row; see ``plan.Planner``."""
    for variant in choices(problem.cols, problem.dtype.itemsize):
        part, config = split_config(variant)
        if plans := PARTS[part].plan(problem, config):
            return plans
    return ()


softmax, log_softmax, unsupported = launch.functions(plan)
