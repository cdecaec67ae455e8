"""Rows on their way through shared memory: while one is worked on, the next are already coming.

Idea: as many blocks as are resident take one row after the other. Each warp has a ring of slots in
shared memory for its share of a row. The copy engine fills them ahead of time, so that memory is
busy while the warps compute, and no register waits for it. A warp goes through its share twice: for
maximum and sum, adjusted whenever the maximum grows, and for the results.
A short row is one warp's, a longer one a block's, and the longest are a cluster's: every warp
sends its maximum and sum into the shared memory of each block, and one barrier that counts bytes is
all that they wait for.
Rows that do not begin at a word, as every second one of an odd N: words are counted from the row's
first element, each is cut out of two aligned ones, so that the sums do not depend on where a row
begins. The output goes by its own aligned words, so that all but the ends of a warp's share moves
in 16 bytes for any N.
Bytes: 2·M·N·itemsize, the least possible.
Limits: what the shared memory of 16 blocks holds: N up to about 900,000 in float32, twice as many
in 16 bits; compute capability 9.0.
Source: our own. Clusters, and telling every block from every warp, as QuACK (Dao-AILab) does it.
"""

import functools
import re
from pathlib import Path
from typing import NamedTuple

from ..contract import CLUSTERS_SINCE
from ..cuda import launch
from ..cuda.nvrtc import Call, Spec
from ._tiling import (
    CLUSTERS,
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
# t: warps of a block, each with a row of its own. w: warps of a block that share a row. b: KiB of
# a row that a block has at most, which decides on the blocks of a cluster. s: slots, fewer where
# there is no room.
FORMS = ("t8s2", "w4b16s2", "w8b32s1", "w8b64s2", "w16b64s2", "w16b128s1")
FORM = "w16b128s1"


class Form(NamedTuple):
    """How rows are divided, and how many a warp has in its ring."""

    warps: int  # of a row's block
    teams: int  # rows that a block works on at once, a warp each
    most_bytes: int  # of a row that a block has
    slots: int


def parsed(form: str) -> Form:
    """What the letters of a form mean."""
    numbers = {letter: int(value) for letter, value in re.findall(r"([a-z])(\d+)", form)}
    teams = numbers.get("t", 1)
    return Form(numbers.get("w", 1), teams, numbers.get("b", 1024) * 1024, numbers["s"])


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``nvrtc.Specialise``."""
    warps, teams, most_bytes, slots = parsed(form)
    room = call.gpu.shared_limit - OWN_BYTES
    for cluster in CLUSTERS[: 1 if teams > 1 else None]:
        words = spread(words_of(call), warps * cluster)
        # in one slot of each warp; where rows begin must not decide on the cluster
        held = warps * teams * slot_bytes(words, apart=True)
        if held <= room and warps * words * 16 <= most_bytes and cluster <= call.gpu.most_cluster:
            break
    else:
        return ()
    slots = min(slots, room // held, MOST_SLOTS)
    kernel = name("frontier_ring", call, warps, cluster, teams, not is_apart(call),
                  log="Logarithm", normal="Normal")  # fmt: skip
    return (
        Spec(
            SOURCE,
            kernel,
            WARP * warps * teams,
            -(-call.rows // teams),
            shared_bytes=slots * held,
            cluster=cluster,
            resident=True,
            more=(slots, words),
            since=CLUSTERS_SINCE,
        ),
    )


in_form = functools.partial(launch.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
