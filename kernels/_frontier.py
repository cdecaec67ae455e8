"""How the frontier's kernels divide a row: by its length and type alone, never by how many rows.

The same row then gives the same bits in any batch.
"""

from typing import NamedTuple

from ._nvrtc import TYPES, WORD_BYTES, Call, Spec, instance

WARP = 32
CLUSTERS_SINCE = (9, 0)  # compute capability; the copy engine as well
OWN_BYTES = 2048  # of shared memory, that a kernel has besides the row: barriers and parts


class Shape(NamedTuple):
    """Who holds a row in its registers: a warp, a block of warps, or a cluster of blocks."""

    words: int  # of 16 bytes that a lane holds
    warps: int  # of a block, for one row
    cluster: int  # blocks that share a row
    rows: int  # of a block, a warp each; 1 where a row takes more than a warp


def words_of(call: Call) -> int:
    """Words of 16 bytes, the last of them perhaps in part, that a row has."""
    return -(-call.cols * call.dtype.itemsize // WORD_BYTES)


def is_whole(call: Call) -> bool:
    """Whether a row is a whole number of words."""
    return call.cols * call.dtype.itemsize % WORD_BYTES == 0


def is_apart(call: Call) -> bool:
    """Whether rows may begin in the middle of a word, or end there."""
    return call.pack * call.dtype.itemsize != WORD_BYTES


def name(template: str, call: Call, *arguments: int | bool, log: str, normal: str) -> str:
    """C++ name of an instance: element type, kind of output, then these."""
    return instance(template, TYPES[call.dtype], log if call.log else normal, *arguments)


def in_shared(call: Call, warps: int, clusters: tuple[int, ...], resident: int) -> tuple[Spec, ...]:
    """frontier_shared.cu for the smallest of ``clusters`` that holds a row; none where none does.

    ``warps``: of a block. ``resident``: blocks of a multiprocessor that there must be room for.
    """
    room = call.gpu.shared_limit // resident - OWN_BYTES
    for cluster in (c for c in clusters if c <= call.gpu.most_cluster):
        _, needed = share_in_shared(words_of(call), warps, cluster)
        if needed <= room:
            break
    else:
        return ()
    kernel = name("frontier_shared", call, warps, cluster, is_apart(call),
                  log="Logarithm", normal="Normal")  # fmt: skip
    threads, source = WARP * warps, "frontier_shared.cu"
    return (
        Spec(
            source,
            kernel,
            threads,
            call.rows,
            shared_bytes=needed,
            cluster=cluster,
            since=CLUSTERS_SINCE,
        ),
    )


def share_in_shared(words: int, warps: int, blocks: int) -> tuple[int, int]:
    """(words of a warp, bytes of a block) where so many blocks hold a row of so many words."""
    each = -(-words // (warps * blocks))
    each = -(-each // WARP) * WARP  # in whole rounds of a warp, as the kernel has it
    return each, warps * (each + 1) * WORD_BYTES
