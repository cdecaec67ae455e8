"""Few long rows: every row is shared by as many blocks as it fills, up to all that the GPU has.

Idea: a launch of as many blocks as are resident at once. Each brings its share of a row into shared
memory, finds its maximum and sum, leaves them in global memory, and waits until the others of its
row have; then it knows the row's, and writes its share. So a row that fits in the shared memory of
the whole GPU is read once, though its parts are far apart. Of a longer one a block takes several
spans in turn; all but the last are read a second time, backwards, from L2 as far as that goes.
Bytes: 2·M·N·itemsize up to about 7 million float32 elements on an H200; beyond, the spans that are
read twice.
Limits: compute capability 9.0. A cooperative launch: it waits until no other kernel is in its way.
Source: our own; the meeting is a barrier over a counter in global memory, as in CUDA's cooperative
groups, for the blocks of one row only.
"""

import functools
from typing import NamedTuple

from . import _cuda
from ._frontier import CLUSTERS_SINCE, OWN_BYTES, WARP, is_apart, name, words_of
from ._nvrtc import WORD_BYTES, Call, Spec

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

# r: blocks of a multiprocessor. w: warps of a block.
FORMS = ("r1w16", "r1w32", "r2w8", "r2w16")
FORM = "r2w16"
# Bytes of a block where the row is too short to need more, enough to have under way.
LEAST_BYTES = 32 * 1024
LONGEST = 2**30  # the kernel counts a row's elements in 32 bits, rounded up to whole spans


class Division(NamedTuple):
    """How a row is divided: by its length, its type and the GPU alone."""

    shares: int  # blocks of a row
    spans: int  # of a block
    words: int  # of a warp in a span


def division(call: Call, resident: int, warps: int) -> Division:
    """What each block has of a row, with so many resident blocks of so many warps."""
    words = words_of(call)
    room = (call.gpu.shared_limit // resident - OWN_BYTES) // (warps * WORD_BYTES) - 1
    most = room // WARP * WARP
    shares = min(resident * call.gpu.processors, -(-words * WORD_BYTES // LEAST_BYTES))
    spans = -(-words // (shares * warps * most))
    each = -(-words // (shares * spans * warps))
    return Division(shares, spans, -(-each // WARP) * WARP)


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``_nvrtc.Specialise``."""
    if call.cols > LONGEST:
        return ()
    resident, warps = int(form[1]), int(form[3:])
    shares, spans, words = division(call, resident, warps)
    at_once = min(call.rows, resident * call.gpu.processors // shares)
    kernel = name("frontier_grid", call, warps, resident, is_apart(call),
                  log="Logarithm", normal="Normal")  # fmt: skip
    return (
        Spec(
            "frontier_grid.cu",
            kernel,
            WARP * warps,
            at_once * shares,
            shared_bytes=warps * (words + 1) * WORD_BYTES,
            meets=True,
            since=CLUSTERS_SINCE,
            more=(shares, spans, words),
        ),
    )


in_form = functools.partial(_cuda.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
