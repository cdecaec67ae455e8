"""Rows in registers that begin anywhere, put right on their way through shared memory.

Idea: a row of odd N begins anywhere in a word of 16 bytes. Each warp brings all aligned words that
hold some of its share, and leaves them in shared memory as they came; from there every lane takes
4 bytes at a time, which neighbours have next to each other, into registers: where 16-bit elements
begin in the middle of 4 bytes, out of two neighbouring ones. The results go the same way back. No
thread waits for another warp but to join maximum and sum, in a block or in a cluster of blocks, as
in ``frontier_rows``. In 32 bits powers are kept in the elements' place; in 16 bits they are
computed a second time, so that a register holds two elements, and more warps are resident.
Bytes: 2·M·N·itemsize, the least possible.
Limits: more than a warp can hold; 32 registers of a thread, 16 warps, 16 blocks: N up to 262,144 in
float32, twice that in 16 bits, in proportion for other forms. Compute capability 9.0, or 8.0 where
a block is enough.
Source: our own; what is shared with ``frontier_rows`` as there.
"""

import functools
import math
from typing import NamedTuple

from . import _cuda
from ._frontier import CLUSTERS_SINCE, OWN_BYTES, WARP, name, sharing
from ._nvrtc import OLDEST, WORD_BYTES, Call, Spec

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

PIECE_BYTES = 4
# k: pieces of 4 bytes of a lane, at most. w: warps of a block, at most.
FORMS = ("k16w8", "k20w8", "k20w16", "k24w8", "k24w16", "k28w8", "k32w8", "k32w16")
FORM = "k32w16"


class Shape(NamedTuple):
    """Who holds a row: the warps of a block, or of a cluster of blocks."""

    pieces: int  # of a lane
    warps: int  # of a block
    cluster: int  # blocks


def shape(pieces: int, most: int, most_warps: int, most_cluster: int) -> Shape | None:
    """How a row of so many pieces is divided, with at most ``most`` of a lane.

    None if it is too long, or so short that a warp has all of it.
    """
    if pieces <= WARP * most:
        return None
    found = sharing(pieces, most, most_warps, most_cluster)
    return found and Shape(-(-pieces // (WARP * math.prod(found))), *found)


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``_nvrtc.Specialise``."""
    most, most_warps = map(int, form[1:].split("w"))
    pieces = -(-call.cols * call.dtype.itemsize // PIECE_BYTES)
    found = shape(pieces, most, most_warps, call.gpu.most_cluster)
    if found is None:
        return ()
    kernel = name("frontier_staged", call, *found, log="Logarithm", normal="Normal")
    # of a warp; the words at both ends of its share belong to it in part
    words = found.pieces * PIECE_BYTES * WARP // WORD_BYTES + 2
    shared = found.warps * words * WORD_BYTES
    if shared > call.gpu.shared_limit - OWN_BYTES:
        return ()
    return (
        Spec(
            "frontier_staged.cu",
            kernel,
            WARP * found.warps,
            call.rows,
            shared_bytes=shared,
            cluster=found.cluster,
            since=CLUSTERS_SINCE if found.cluster > 1 else OLDEST,
        ),
    )


in_form = functools.partial(_cuda.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
