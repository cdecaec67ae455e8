"""A row in registers: of a warp, of a block, or of the blocks of a cluster.

Idea: every lane loads its share of a row at once, in words of 16 bytes, and keeps it as it came.
Each thread finds its own maximum and sum of exp; such pairs are joined by shuffles inside a warp,
and through shared memory, one barrier in all, inside a block or a cluster. The powers are kept in
float32 and only scaled on their way out, or, where that would take too many registers, every
element goes through exp a second time. A cluster's first barrier, after which its blocks may write
to each other, is arrived at before the loads and waited for after them, as QuACK does.
Rows that do not begin at a word, as every second one of an odd N: words are counted from the row's
first element, each is cut out of two aligned ones, the second of which is the next lane's or in the
cache, and the output is put together the other way round between neighbouring lanes. So all but the
ends of a warp's share moves in 16 bytes for any N, and the sums do not depend on where a row
begins.
Bytes: 2·M·N·itemsize, the least possible.
Limits: 4 words a lane and 16 warps, N up to 131,072 in float32, twice that in 16 bits, with
clusters of 16 blocks, in proportion for other forms; compute capability 9.0, or 8.0 where a block
is enough.
Source: registers, clusters and the order of barriers as QuACK (Dao-AILab) explains them; the words
of rows that lie apart are our own.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.nvrtc import WORD_BYTES, Call, Spec
from ._tiling import WARP, Shape, is_apart, name, sharing, words_of

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
ROWS = 4  # of a block, where a warp has one
# k: words of a lane, fewer where a warp's row has not so many. w: warps of a block, at most. r: the
# powers are computed again, not kept, which in 16 bits takes half the registers.
FORMS = ("k2w8", "k2w16", "k4w8", "k4w16", "k8w4", "k8w8", "k8w16", "k8w4r", "k8w8r")
FORM = "k4w16"
REGISTERS = 64 * 1024  # of a multiprocessor


def shape(words: int, of_lane: int, most_warps: int, most_cluster: int) -> Shape | None:
    """How a row of so many words is divided, with at most ``of_lane`` each; None if too long."""
    if words <= WARP * of_lane:
        return Shape(-(-words // WARP), 1, 1, ROWS)
    found = sharing(words, of_lane, most_warps, most_cluster)
    return found and Shape(of_lane, *found, 1)


def _fits(shape: Shape, call: Call) -> bool:
    """Whether there are registers for a block's powers, half as many again, and second words.

    Also where rows begin at words and need no second ones: the form must not depend on that.
    """
    powers = shape.words * WORD_BYTES // call.dtype.itemsize
    of_lane = powers * 3 // 2 + shape.words * WORD_BYTES // 4
    return of_lane * WARP * shape.warps * shape.rows <= REGISTERS


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``nvrtc.Specialise``."""
    of_lane, most_warps = map(int, form[1:].rstrip("r").split("w"))
    found = shape(words_of(call), of_lane, most_warps, call.gpu.most_cluster)
    keep = not form.endswith("r")
    if found is None or not (_fits(found, call) if keep else call.dtype.itemsize < 4):
        return ()
    kernel = name("frontier_rows", call, *found, is_apart(call), keep,
                  log="LogSoftmaxEpilogue", normal="SoftmaxEpilogue")  # fmt: skip
    blocks = -(-call.rows // found.rows)
    threads = WARP * found.warps * found.rows
    return (
        Spec(
            SOURCE,
            kernel,
            threads,
            blocks,
            cluster=found.cluster,
            since=found.since,
        ),
    )


in_form = functools.partial(launch.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
