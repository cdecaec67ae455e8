"""Rows that begin anywhere, as they lie in shared memory, word by word.

Idea: a row of odd N begins anywhere in a word of 16 bytes. Each warp brings all aligned words that
hold some of its share into shared memory as they are, by copies that pass through no register, so
that all are under way at once. There the share stays. For maximum and sum a lane takes words
counted from the row's first element, each out of two neighbours, so that the same elements meet
wherever the row begins; for the result it takes the words in which this lies, which are those that
came where x and out begin alike. So nothing is kept in registers, and up to 64 warps are resident;
exp is computed twice. No thread waits for another warp but to join maximum and sum, in a block or
in a cluster of blocks, as in ``frontier_rows``.
Bytes: 2·M·N·itemsize, the least possible.
Limits: more than a warp can take; 4 words of a lane, 16 warps, 16 blocks: N up to 131,072 in
float32, twice that in 16 bits, in proportion for other configs. Compute capability 9.0, or
8.0 where a block is enough.
Source: our own; what is shared with ``frontier_rows`` as there.
"""

import functools
import math
from pathlib import Path

from ..cuda import launch
from ..cuda.nvrtc import VEC_BYTES, Call, LaunchPlan
from ._tiling import OWN_BYTES, WARP, Shape, name, sharing, vectors_of

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
# k: words of 16 bytes of a lane, at most. w: warps of a block, at most.
CONFIGS = ("k4w8", "k4w16", "k5w8", "k5w16", "k6w16", "k8w16")
DEFAULT_CONFIG = "k4w16"


def shape(words: int, most: int, max_warps: int, max_cluster: int) -> Shape | None:
    """How a row of so many words is divided, with at most ``most`` of a lane.

    None if it is too long, or so short that a warp has all of it.
    """
    if words <= WARP * most:
        return None
    found = sharing(words, most, max_warps, max_cluster)
    return found and Shape(-(-words // (WARP * math.prod(found))), *found, 1)


def plan(call: Call, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    most, max_warps = map(int, config[1:].split("w"))
    found = shape(vectors_of(call), most, max_warps, call.gpu.max_cluster)
    if found is None:
        return ()
    kernel = name("frontier_staged", call, found.words, found.warps, found.cluster,
                  log="LogSoftmaxEpilogue", normal="SoftmaxEpilogue")  # fmt: skip
    # of a warp; two words more, as its elements begin and end anywhere in one
    shared = found.warps * (found.words * WARP + 2) * VEC_BYTES
    if shared > call.gpu.max_shared_per_block - OWN_BYTES:
        return ()
    return (
        LaunchPlan(
            SOURCE,
            kernel,
            WARP * found.warps,
            call.rows,
            shared_bytes=shared,
            cluster=found.cluster,
            min_capability=found.min_capability,
        ),
    )


with_config = functools.partial(launch.functions, plan)
softmax, log_softmax, unsupported = with_config(DEFAULT_CONFIG)[:3]
