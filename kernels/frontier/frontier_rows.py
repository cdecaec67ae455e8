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
clusters of 16 blocks, in proportion for other configs; compute capability 9.0, or 8.0 where a block
is enough.
Source: registers, clusters and the order of barriers as QuACK (Dao-AILab) explains them; the words
of rows that lie apart are our own.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.nvrtc import VEC_BYTES, Call, LaunchPlan
from ._tiling import WARP, Shape, is_unaligned, name, sharing, vectors_of

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
ROWS = 4  # of a block, where a warp has one
# k: words of a lane, fewer where a warp's row has not so many. w: warps of a block, at most. r: the
# powers are computed again, not kept, which in 16 bits takes half the registers.
CONFIGS = ("k2w8", "k2w16", "k4w8", "k4w16", "k8w4", "k8w8", "k8w16", "k8w4r", "k8w8r")
DEFAULT_CONFIG = "k4w16"
REGISTERS = 64 * 1024  # of a multiprocessor


def shape(words: int, per_lane: int, max_warps: int, max_cluster: int) -> Shape | None:
    """How a row of so many words is divided, with at most ``per_lane`` each; None if too long."""
    if words <= WARP * per_lane:
        return Shape(-(-words // WARP), 1, 1, ROWS)
    found = sharing(words, per_lane, max_warps, max_cluster)
    return found and Shape(per_lane, *found, 1)


def _fits(shape: Shape, call: Call) -> bool:
    """Whether there are registers for a block's powers, half as many again, and second words.

    Also where rows begin at words and need no second ones: the config must not depend on that.
    """
    powers = shape.words * VEC_BYTES // call.dtype.itemsize
    per_lane = powers * 3 // 2 + shape.words * VEC_BYTES // 4
    return per_lane * WARP * shape.warps * shape.rows <= REGISTERS


def plan(call: Call, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    per_lane, max_warps = map(int, config[1:].rstrip("r").split("w"))
    found = shape(vectors_of(call), per_lane, max_warps, call.gpu.max_cluster)
    keep = not config.endswith("r")
    if found is None or not (_fits(found, call) if keep else call.dtype.itemsize < 4):
        return ()
    kernel = name("frontier_rows", call, *found, is_unaligned(call), keep,
                  log="LogSoftmaxEpilogue", normal="SoftmaxEpilogue")  # fmt: skip
    blocks = -(-call.rows // found.rows)
    threads = WARP * found.warps * found.rows
    return (
        LaunchPlan(
            SOURCE,
            kernel,
            threads,
            blocks,
            cluster=found.cluster,
            min_capability=found.min_capability,
        ),
    )


with_config = functools.partial(launch.functions, plan)
softmax, log_softmax, unsupported = with_config(DEFAULT_CONFIG)[:3]
