"""QuACK's softmax, in CuTe DSL: a row in shared memory, of several blocks where it is long.

Idea: 16-byte asynchronous copies bring a row into shared memory; a thread takes its share into
registers; maximum and sum travel together through shuffles, shared memory and, from compute
capability 9.0 on, the shared memory of up to 16 blocks that form a cluster.
Bytes: 2·M·N·itemsize, the least possible.
Limits: rows that begin at a multiple of 16 bytes and are one long, in x and in out; at most what
the shared memory of a cluster holds; NVIDIA GPUs from compute capability 8.0 on. Beyond N = 3072
several warps share a row, and each scales by its own maximum first: where one of them sees nothing
but -inf the row comes out as NaN (-inf - -inf), and in float32 the rounding of each maximum times
log2(e), harmless while one warp has the row, shows in rows of values around 10,000.
Source: QuACK (Dao-AILab/quack), quack/softmax.py; the package is optional:
``pip install --group peers``.
"""

import functools
import math

import torch

from ..tensors import empty_output
from . import _package

ON_REQUEST = True  # another project's, and its package may not be here

with _package.optional_package():
    from quack.softmax import _softmax_fwd

PACK_BYTES = 16
THREADS = 256  # of a block, for the long rows that this matters to
WARPS = THREADS // 32


def unsupported(x: torch.Tensor) -> str | None:
    """None, or why QuACK cannot take this."""
    cols, size = x.shape[1], x.element_size()
    pack = PACK_BYTES // size
    if cols % pack:
        return f"N = {cols}: QuACK takes multiples of {pack} {x.dtype} elements, {PACK_BYTES} bytes"
    if x.data_ptr() % PACK_BYTES or (x.shape[0] > 1 and x.stride(0) % pack):
        return f"x has rows that do not begin at multiples of {PACK_BYTES} bytes"
    return _package.unsupported(x) or _too_much(cols * size, x.device)


def _too_much(row_bytes: int, device: torch.device) -> str | None:
    (major, minor), shared_bytes = _capability(device)
    if major < 8:
        return f"compute capability {major}.{minor}; QuACK needs 8.0"
    blocks = cluster(major)
    if block_bytes(row_bytes, blocks) <= shared_bytes:
        return None
    where = "a block" if blocks == 1 else f"{blocks} blocks"
    return f"a row of {row_bytes} bytes; it must fit in the shared memory of {where}"


def cluster(major: int) -> int:
    """Blocks that share one of the longest rows, by compute capability."""
    return {8: 1, 12: 8}.get(major, 16)


def block_bytes(row_bytes: int, blocks: int) -> int:
    """Shared memory of one of ``blocks`` blocks, for a row too long for fewer."""
    tile = THREADS * PACK_BYTES
    held = math.ceil(row_bytes / (blocks * tile)) * tile
    # every warp's maximum and sum, 8 bytes, in every block; an 8-byte barrier
    return held + 8 * WARPS * blocks + 8


@functools.cache
def _capability(device: torch.device) -> tuple[tuple[int, int], int]:
    """Compute capability, and bytes of shared memory that a block may have."""
    found = torch.cuda.get_device_properties(device)
    return (found.major, found.minor), found.shared_memory_per_block_optin


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    out = empty_output(x, out)
    _softmax_fwd(x, out)
    return out
