"""The backward of softmax and log-softmax of long rows, in the registers of a block or a cluster.

Idea: dx = y·(g - Σ g·y), and of log-softmax dx = g - exp(y)·Σ g. Every lane loads its 16-byte
vectors of g and y and keeps them in registers. The sums are merged in shared memory, over the
blocks of a cluster as in ``frontier_rows``. So rows too long for one multiprocessor are read once.
Bytes: 3·M·N·itemsize, the least possible.
Limits: g, y and dx have rows that are aligned to 16 bytes and a multiple of 16 bytes long. N up to
262,144 in float32, twice that in 16 bits; half of it with clusters of 8 blocks. Compute capability
9.0, or 8.0 where a block is enough.
Source: the formulas of ``triton_backward``; clusters as in ``frontier_rows``.
"""

import functools
from pathlib import Path

import torch

from ...cuda import launch as cuda
from ...cuda.nvrtc import PORTABLE_CLUSTER, VEC_BYTES, Call, LaunchPlan, instance_of, widest_pack
from ...tensors import empty_output
from .._tiling import Shape, fewest_blocks, is_unaligned, parse, plan_of, vectors_of

SOURCE = Path(__file__).with_suffix(".cu")
# k: vectors of a lane, of g and of y each. w: most warps of a block. A row takes the first tiling
# that needs at most 8 blocks, because a GPU can place fewer clusters of 16.
TILINGS = ("k4w16", "k8w16")
BLOCK_BYTES = 2**16  # of a row, in the last tiling


def plan(call: Call, tilings: tuple[str, ...] = TILINGS) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``nvrtc.Planner``."""
    if is_unaligned(call):
        return ()
    shapes = [shape for tiling in tilings if (shape := _shape(call, tiling))]
    if not shapes:
        return ()
    shape = min(shapes, key=lambda shape: shape.cluster > PORTABLE_CLUSTER)
    kernel = instance_of("backward", call, ("OfSoftmax", "OfLogSoftmax"), *shape[:3])
    return plan_of(SOURCE, kernel, shape, call.rows)


def _shape(call: Call, tiling: str) -> Shape | None:
    numbers = parse(tiling)
    limits = numbers["k"], numbers["w"], call.gpu.max_cluster
    blocks = fewest_blocks(vectors_of(call), *limits)
    return blocks and Shape(numbers["k"], *blocks, 1)


def softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the gradient with respect to x, from y = softmax(x); see ``kernels.Variant``."""
    return _backward(g, y, out, log=False)


def log_softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the gradient with respect to x, from y = log_softmax(x); see ``kernels.Variant``."""
    return _backward(g, y, out, log=True)


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why this kernel cannot run matrices like x."""
    if not _is_vector(widest_pack(x.element_size(), x.data_ptr(), x.stride(0) | x.shape[1]), x):
        return f"N = {x.shape[1]}: rows must be aligned to 16 bytes and a multiple of 16 bytes long"
    return cuda.why_unsupported(plan, x)


def _backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None, log: bool
) -> torch.Tensor:
    out = empty_output(y, out)
    strides = (out.stride(0), g.stride(0), y.stride(0))
    if not launch(g, y, out, *y.shape, strides, log):
        raise ValueError(f"N = {y.shape[1]}: rows must be aligned to 16 bytes, and not too long")
    return out


def launch(
    g: torch.Tensor,
    y: torch.Tensor,
    dx: torch.Tensor,
    rows: int,
    cols: int,
    strides: tuple[int, int, int],
    log: bool,
) -> bool:
    """Launch as ``triton_backward.launch``. Return False if this kernel does not take the rows."""
    addresses = dx.data_ptr(), g.data_ptr(), y.data_ptr()
    any_address = addresses[0] | addresses[1] | addresses[2]
    pack = widest_pack(y.element_size(), any_address, strides[0] | strides[1] | strides[2] | cols)
    if not _is_vector(pack, y) or cols * y.element_size() > _max_bytes(y.get_device()):
        return False
    arguments = (*addresses, *strides, rows, cols)
    cuda.launch_with(arguments, plan, y.dtype, rows, cols, pack, log, y.get_device())
    return True


@functools.cache
def _max_bytes(device: int) -> int:
    """Return the bytes of the longest row that a cluster takes."""
    return BLOCK_BYTES * cuda.gpu_info(device).max_cluster


def _is_vector(pack: int, x: torch.Tensor) -> bool:
    return pack * x.element_size() == VEC_BYTES
