"""QuACK's softmax in CuTe DSL: each row in the shared memory of a block or a cluster.

Idea: 16-byte asynchronous copies load a row into shared memory, and each thread reads its elements
into registers. Maximum and sum are reduced together, through shuffles and shared memory. From
compute capability 9.0 on, a cluster of up to 16 blocks shares a long row.
Bytes: 2·M·N·itemsize, the least possible.
Limits: rows of x and out are aligned to 16 bytes and a multiple of 16 bytes long. They fit in the
shared memory of a cluster. NVIDIA GPUs from compute capability 8.0 on.
Errors: beyond N = 3072 several warps share a row, and each subtracts its own maximum first. A warp
that sees only -inf computes -inf - -inf, which is NaN, and the NaN spreads to the row. In float32
the rounding of maximum times log2(e) shows in rows of values around 10,000. A length that leaves a
warp no element gives rows of NaN: at N = 151936 in 16 bits, the last of 16 blocks begins past the
end.
Source: QuACK (Dao-AILab/quack), quack/softmax.py.
Use: ``pip install 'quack-kernels[cu13]'``; ``from quack import softmax``.
"""

import math

import torch

from ..contract import VEC_BYTES, max_cluster_blocks
from . import _package

ON_REQUEST = True  # another project's kernel, from an optional package

with _package.optional_package():
    # the other kernels import torch's compiler, for 1 s
    _package.skip_init("quack")
    from quack.softmax import _softmax_fwd

THREADS, WARPS = 256, 8  # Threads and warps of a block, for the long rows that fill shared memory


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why QuACK cannot take x."""
    cols, size = x.shape[1], x.element_size()
    pack = VEC_BYTES // size
    if cols % pack:
        return f"N = {cols}: QuACK takes multiples of {pack} {x.dtype} elements, {VEC_BYTES} bytes"
    if x.data_ptr() % VEC_BYTES or (x.shape[0] > 1 and x.stride(0) % pack):
        return f"x has rows that do not begin at multiples of {VEC_BYTES} bytes"
    return _package.unsupported(x) or too_long(cols * size, x.device)


def too_long(row_bytes: int, device: torch.device) -> str | None:
    """Return None, or why no cluster holds a row of so many bytes."""
    gpu = torch.cuda.get_device_properties(device)
    if gpu.major < 8:
        return f"compute capability {gpu.major}.{gpu.minor}; QuACK needs 8.0"
    # A block has tiles of the row, 8 bytes of maximum and sum for every warp of the cluster, and an
    # 8-byte barrier.
    blocks, tile = max_cluster_blocks(gpu.major), THREADS * VEC_BYTES
    part = math.ceil(row_bytes / (blocks * tile)) * tile
    if part + 8 * WARPS * blocks + 8 <= gpu.shared_memory_per_block_optin:
        return None
    return f"a row of {row_bytes} bytes; it must fit in the shared memory of {blocks} blocks"


softmax = _package.as_variant(_softmax_fwd)
