"""Few long rows: every row is shared by as many blocks as it fills, up to all that the GPU has.

Idea: a launch of as many blocks as are resident at once. Each brings its share of a row into shared
memory, span by span, finds maximum and sum of what has come while more is coming, leaves them in
global memory, and waits until the others of its row have; then it knows the row's, and writes its
share from shared memory, which meanwhile takes up the next row's. So a row that fits in the shared
memory of the whole GPU is read once, though its parts are far apart. Of a longer one the last
spans are read twice, the second time from L2 as far as that goes.
Bytes: 2·M·N·itemsize up to about 7 million float32 elements on an H200; beyond, the spans that are
read twice.
Limits: compute capability 9.0. A cooperative launch: it waits until no other kernel is in its way.
Source: our own. Blocks meet in global memory without a counter: each polls for the others' maxima
and sums themselves, which carry the number of their turn.
"""

import functools
from pathlib import Path
from typing import NamedTuple

from ..contract import CLUSTERS_SINCE
from ..cuda import launch
from ..cuda.nvrtc import WORD_BYTES, Call, Spec
from ._tiling import (
    LONGEST,
    MOST_SLOTS,
    OWN_BYTES,
    WARP,
    is_apart,
    name,
    slot_bytes,
    spread,
    words_of,
)

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
# r: blocks of a multiprocessor. w: warps of a block.
FORMS = ("r1w16", "r2w8", "r3w8", "r4w4")
FORM = "r1w16"
# Bytes of a block where the row is too short to need more, enough to have under way.
LEAST_BYTES = 16 * 1024
# Of a warp, where its share is not shorter: the first to come is soon there, but each copy takes
# the engine a while, however short. The larger where all of a row then fits.
SPANS_BYTES = (4096, 2048)
MOST_BLOCKS = 640  # of a launch
MOST_PASSING = 2  # blocks of a multiprocessor, of rows that do not fit
LEAST_SLOTS = 3  # of rows that do not fit: kPassing of them, and one for what is kept


class Division(NamedTuple):
    """How a row is divided: by its length, its type and the GPU alone."""

    shares: int  # blocks of a row
    spans: int  # of a warp
    words: int  # of a span
    slots: int  # of a warp


def _resident_blocks(call: Call, resident: int) -> int:
    """Blocks of the largest launch."""
    return min(resident * call.gpu.processors, MOST_BLOCKS)


def division(call: Call, resident: int, warps: int) -> Division:
    """What each block has of a row, with so many resident blocks of so many warps."""
    words = words_of(call)
    room = (call.gpu.shared_limit // resident - OWN_BYTES) // warps  # bytes of a warp
    blocks = call.gpu.processors
    if words * WORD_BYTES > blocks * room * warps // 2:
        # two rows do not fit, so nothing is to gain from rows that are worked on by turns
        blocks = _resident_blocks(call, resident)
    shares = min(blocks, -(-words * WORD_BYTES // LEAST_BYTES))
    each = spread(words, shares * warps)
    for span_bytes in SPANS_BYTES:
        # no more slots than a warp can have
        span = max(span_bytes, room // MOST_SLOTS) // WORD_BYTES
        spans = -(-each // span)
        of_span = spread(words, shares * warps * spans)
        # where rows begin must not decide on spans, and so on sums
        slots = min(MOST_SLOTS, room // slot_bytes(of_span, apart=True))
        if spans <= slots:
            break
    return Division(shares, spans, of_span, slots)


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``nvrtc.Specialise``."""
    if call.cols > LONGEST:
        return ()
    resident, warps = int(form[1]), int(form[3:])
    shares, spans, words, slots = division(call, resident, warps)
    passing = spans > slots
    if passing and (resident > MOST_PASSING or slots < LEAST_SLOTS):
        return ()  # several would spill registers, and gain nothing: the row takes all the memory
    at_once = min(call.rows, _resident_blocks(call, resident) // shares)
    kernel = name("frontier_grid", call, warps, resident, not is_apart(call), passing,
                  log="Logarithm", normal="Normal")  # fmt: skip
    return (
        Spec(
            SOURCE,
            kernel,
            WARP * warps,
            at_once * shares,
            shared_bytes=warps * slots * slot_bytes(words, is_apart(call)),
            meets=True,
            since=CLUSTERS_SINCE,
            more=(shares, spans, words, slots),
        ),
    )


in_form = functools.partial(launch.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
