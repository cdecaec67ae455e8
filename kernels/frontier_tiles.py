"""Few long rows, in tiles: as many blocks share a row as there are rows for them to share.

Idea: a launch of as many blocks as are resident at once. A row is divided into tiles, each one copy
by the copy engine, and into leaves of so many tiles that a lone row fills the GPU. A block takes
several leaves where there are several rows: fewer blocks then share a row, and meet less often for
all that they read and write. A leaf's maximum and sum do
not depend on who takes it, and a row's are put together from its leaves' in their order; so a row
gives the same bits in any batch. One warp of a block brings the tiles, the others work on each of
them together. Of a leaf that does not fit the last tiles are read twice, the second time from L2 as
far as that goes.
Bytes: 2·M·N·itemsize up to about 7 million float32 elements on an H200; beyond, the tiles that are
read twice.
Limits: compute capability 9.0. A cooperative launch: it waits until no other kernel is in its way.
Source: our own; the warp that only copies is a habit of CUTLASS's kernels.
"""

import functools
from typing import NamedTuple

from . import _cuda
from ._frontier import (
    CLUSTERS_SINCE,
    LONGEST,
    OWN_BYTES,
    WARP,
    is_apart,
    name,
    slot_bytes,
    spread,
    words_of,
)
from ._meeting import MOST_PARTS
from ._nvrtc import WORD_BYTES, Call, Spec

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

# r: blocks of a multiprocessor. w: warps of a block, and one more that brings the tiles. t: KiB of
# a tile, at most.
FORMS = ("r1w16t16", "r1w16t32", "r1w8t8", "r1w8t16", "r2w8t8", "r2w8t16")
FORM = "r1w16t16"
STEP_BYTES = 1024  # that a warp takes at once; in tiles of fewer for each some have nothing to do
MOST_SLOTS = 32  # of a block: kMostSlots in frontier_tiles.cu
MOST_LEAVES = 16  # of a block: kMostLeaves there
# Of tiles that are not kept, on their way to a multiprocessor: what the memory delivers in its
# latency, and a tile that is being left. In slots, at least so many of a block's.
PASSING_BYTES = 80 * 1024
LEAST_PASSING = 3

# What decides how many blocks share a row, from an H200: its memory gives each multiprocessor 34
# bytes in a nanosecond when all ask; fewer get more each, but soon cannot compute any faster.
MEETING_NS = 2000
BYTES_IN_NS = 34
ALONE = 1.4
NEAR = 1.05  # times that the estimate cannot tell apart


class Division(NamedTuple):
    """How a row is divided: by its length, its type and the GPU alone."""

    leaves: int  # of a row
    of_leaf: int  # tiles
    words: int  # of a tile


def division(call: Call, resident: int, warps: int, most_bytes: int) -> Division:
    """What a row is divided into, for so many blocks of a multiprocessor, of so many warps.

    ``most_bytes``: of a tile.
    """
    words, blocks = words_of(call), resident * call.gpu.processors
    least, most = warps * STEP_BYTES // WORD_BYTES, most_bytes // WORD_BYTES
    of_leaf = -(-words // (blocks * most))
    tiles = blocks * of_leaf if of_leaf > 1 else min(blocks, -(-words // least))
    of_tile = spread(words, tiles)
    return Division(-(-words // (of_tile * of_leaf)), of_leaf, of_tile)


def rows_at_once(rows: int, row: Division, blocks_of_row: int, blocks: int) -> int:
    """Rows that are worked on side by side, in so many resident blocks."""
    return min(rows, blocks // blocks_of_row, MOST_PARTS // row.leaves)


def leaves_of_block(rows: int, row: Division, slots: int, resident: int, processors: int) -> int:
    """How many leaves a block has, for the least estimated time of all rows; at least 1.

    ``slots``: tiles that a block can hold; ``resident``: blocks of each of the ``processors``.
    """
    blocks = resident * processors
    leaf_ns = 2 * row.of_leaf * row.words * WORD_BYTES * resident / BYTES_IN_NS

    def time(leaves: int) -> float:
        of_row = -(-row.leaves // leaves)
        at_once = rows_at_once(rows, row, of_row, blocks)
        turns = -(-rows // at_once)
        share = max(at_once * of_row / blocks, 1 / ALONE)
        moving = leaves * leaf_ns * share
        if turns > 1 and 2 * leaves * row.of_leaf <= slots:
            # the next row is read during a meeting, and the last but one written during the last
            return turns * max(moving, MEETING_NS) + max(0, MEETING_NS - moving / 2)
        return turns * (moving + MEETING_NS)

    most = min(row.leaves, MOST_LEAVES, slots // row.of_leaf)
    times = {leaves: time(leaves) for leaves in range(1, max(1, most) + 1)}
    return next(leaves for leaves in times if times[leaves] <= NEAR * min(times.values()))


def passing_slots(row: Division, slots: int, resident: int) -> int:
    """Of a block's slots, those for the tiles that are not kept, where there are such."""
    wanted = -(-PASSING_BYTES // (resident * row.words * WORD_BYTES))
    return min(max(wanted, LEAST_PASSING), slots - 1)


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``_nvrtc.Specialise``."""
    if call.cols > LONGEST:
        return ()
    resident, rest = form[1:].split("w")
    resident, (warps, tile) = int(resident), map(int, rest.split("t"))
    row = division(call, resident, warps, tile * 1024)
    room = call.gpu.shared_limit // resident - OWN_BYTES
    # where rows begin must not decide on who shares a row: it may be asked in a batch of them
    slots = min(MOST_SLOTS, room // slot_bytes(row.words, apart=True))
    if slots < min(row.of_leaf, LEAST_PASSING + 1) or row.leaves > MOST_PARTS:
        return ()
    of_block = leaves_of_block(call.rows, row, slots, resident, call.gpu.processors)
    of_row = -(-row.leaves // of_block)
    at_once = rows_at_once(call.rows, row, of_row, resident * call.gpu.processors)
    kernel = name("frontier_tiles", call, warps, resident, not is_apart(call),
                  log="Logarithm", normal="Normal")  # fmt: skip
    return (
        Spec(
            "frontier_tiles.cu",
            kernel,
            WARP * (warps + 1),
            at_once * of_row,
            shared_bytes=slots * slot_bytes(row.words, is_apart(call)),
            meets=True,
            since=CLUSTERS_SINCE,
            more=(*row, of_block, slots, passing_slots(row, slots, resident)),
        ),
    )


in_form = functools.partial(_cuda.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
