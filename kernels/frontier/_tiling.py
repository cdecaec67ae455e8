"""How the frontier's kernels divide a row: by its length and type alone, never by how many rows.

The same row then gives the same bits in any batch.
"""

from typing import NamedTuple

from ..contract import CLUSTERS_SINCE, OLDEST
from ..cuda.nvrtc import TYPES, VEC_BYTES, Call, instance

WARP = 32
CLUSTERS = (1, 2, 4, 8, 16)  # blocks
OWN_BYTES = 7 * 1024  # of shared memory, that a kernel has besides rows: barriers and parts
# Elements of a row that all blocks share: counted in 32 bits, rounded up to what these have.
LONGEST = 2**30


class Shape(NamedTuple):
    """Who shares a row: the lanes of a warp, a block of warps, or a cluster of blocks."""

    words: int  # of 16 bytes that a lane has
    warps: int  # of a block, for one row
    cluster: int  # blocks that share a row
    rows: int  # of a block, a warp each; 1 where a row takes more than a warp

    @property
    def min_capability(self) -> tuple[int, int]:
        """The compute capability that it needs."""
        return CLUSTERS_SINCE if self.cluster > 1 else OLDEST


def sharing(units: int, per_lane: int, max_warps: int, max_cluster: int) -> tuple[int, int] | None:
    """Warps of a block, and blocks: the fewest blocks that hold a row of so many units.

    With ``per_lane`` of them at most; None if the row is too long.
    """
    for cluster in (c for c in CLUSTERS if c <= max_cluster):
        warps = -(-units // (WARP * per_lane * cluster))
        if warps <= max_warps:
            return warps, cluster
    return None


def vectors_of(call: Call) -> int:
    """Words of 16 bytes, the last of them perhaps in part, that a row has."""
    return -(-call.cols * call.dtype.itemsize // VEC_BYTES)


def is_vector_multiple(call: Call) -> bool:
    """Whether a row is a whole number of words."""
    return call.cols * call.dtype.itemsize % VEC_BYTES == 0


def is_unaligned(call: Call) -> bool:
    """Whether rows may begin in the middle of a word, or end there."""
    return call.pack * call.dtype.itemsize != VEC_BYTES


def name(template: str, call: Call, *arguments: int | bool, log: str, normal: str) -> str:
    """C++ name of an instance: element type, kind of output, then these."""
    return instance(template, TYPES[call.dtype], log if call.log else normal, *arguments)
