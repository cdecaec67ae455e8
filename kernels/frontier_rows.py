"""A row in registers: of a warp, of a block, or of the blocks of a cluster.

Idea: every lane loads its share of a row at once, in words of 16 bytes, and keeps it as it came.
Each thread finds its own maximum and sum of exp; such pairs are joined by shuffles inside a warp,
once through shared memory inside a block, and once through distributed shared memory inside a
cluster: one barrier each. Then every element goes through exp a second time, on its way out. A
cluster's first barrier, after which its blocks may write to each other, is arrived at before the
loads and waited for after them, as QuACK does.
Rows that do not begin at a word, as every second one of an odd N: words are counted from the row's
first element, each is cut out of two aligned ones, and the output is put together the other way
round between neighbouring lanes. So loads and stores have 16 bytes for any N, and the sums do not
depend on where a row begins.
Bytes: 2·M·N·itemsize, the least possible.
Limits: with 4 words a lane N up to 262,144 in float32, twice that in 16 bits, with clusters of 16
blocks; compute capability 9.0, or 8.0 where a block is enough.
Source: registers, clusters and the order of barriers as QuACK (Dao-AILab) explains them; the words
of rows that lie apart are our own.
"""

import functools

from . import _cuda
from ._frontier import CLUSTERS_SINCE, WARP, Shape, is_apart, name, words_of
from ._nvrtc import OLDEST, Call, Spec

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

MOST_WARPS = 16  # of a block, so that, with 64 registers, two are resident: one loads, one reduces
CLUSTERS = (2, 4, 8, 16)
ROWS = 4  # of a block, where a warp has one
FORMS = ("k1", "k2", "k4", "k8")  # k: words of a lane, fewer where a warp's row has not so many
FORM = "k4"
MOST_WORDS = {4: 8, 2: 4}  # of a lane: 32 elements, which in float32 are as many registers


def shape(words: int, of_lane: int, most_cluster: int) -> Shape | None:
    """How a row of so many words is divided, with at most ``of_lane`` each; None if too long."""
    if words <= WARP * of_lane:
        return Shape(-(-words // WARP), 1, 1, ROWS)
    if words <= WARP * of_lane * MOST_WARPS:
        return Shape(of_lane, -(-words // (WARP * of_lane)), 1, 1)
    for warps in (MOST_WARPS, 2 * MOST_WARPS):
        for cluster in (c for c in CLUSTERS if c <= most_cluster):
            if words <= WARP * of_lane * warps * cluster:
                return Shape(of_lane, warps, cluster, 1)
    return None


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``_nvrtc.Specialise``."""
    of_lane = min(int(form[1]), MOST_WORDS[call.dtype.itemsize])
    found = shape(words_of(call), of_lane, call.gpu.most_cluster)
    if found is None:
        return ()
    kernel = name("frontier_rows", call, *found, is_apart(call), log="Logarithm", normal="Normal")
    blocks = -(-call.rows // found.rows)
    threads = WARP * found.warps * found.rows
    since = CLUSTERS_SINCE if found.cluster > 1 else OLDEST
    return (Spec("frontier_rows.cu", kernel, threads, blocks, cluster=found.cluster, since=since),)


in_form = functools.partial(_cuda.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
