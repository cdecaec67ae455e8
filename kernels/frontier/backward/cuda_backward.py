"""The backward of softmax and log-softmax of long rows: of a block, or of a cluster's blocks.

Idea: dx = y·(g - Σ g·y), and of log-softmax g - exp(y)·Σ g. Every lane loads its share of a row of
both, in words of 16 bytes, and keeps it; the sums are joined in shared memory, of a cluster's
blocks as in ``frontier_rows``. So rows that no multiprocessor could hold are read once.
Bytes: 3·M·N·itemsize, the least possible.
Limits: rows of whole words of 16 bytes that begin at such words, in g, y and dx; N up to 262,144 in
float32, twice that in 16 bits, half where a cluster has 8 blocks; compute capability 9.0, or 8.0
where a block is enough.
Source: the formulas of ``triton_backward``; clusters as in ``frontier_rows``.
"""

import functools
from pathlib import Path

import torch

from ...cuda import launch as cuda
from ...cuda.nvrtc import PORTABLE_CLUSTER, VEC_BYTES, Call, LaunchPlan, widest_pack
from ...tensors import empty_output
from .._tiling import WARP, Shape, is_unaligned, name, sharing, vectors_of

# k: words of a lane, of g and of y each; w: warps of a block, at most. The first that takes a row
# with a cluster of 8 blocks, or else of 16, of which a GPU can place fewer.
SOURCE = Path(__file__).with_suffix(".cu")
DIVISIONS = ("k4w16", "k8w16")
OF_BLOCK = 2**16  # bytes of a row that a block takes in the last of them


def plan(call: Call, divisions: tuple[str, ...] = DIVISIONS) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    if is_unaligned(call):
        return ()
    found = [shape for d in divisions if (shape := _shape(call, *map(int, d[1:].split("w"))))]
    if not found:
        return ()
    shape = min(found, key=lambda shape: shape.cluster > PORTABLE_CLUSTER)
    kernel = name("backward", call, *shape[:3], log="OfLogSoftmax", normal="OfSoftmax")
    of_launch = WARP * shape.warps, call.rows
    return (
        LaunchPlan(
            SOURCE, kernel, *of_launch, cluster=shape.cluster, min_capability=shape.min_capability
        ),
    )


def _shape(call: Call, per_lane: int, max_warps: int) -> Shape | None:
    found = sharing(vectors_of(call), per_lane, max_warps, call.gpu.max_cluster)
    return found and Shape(per_lane, *found, 1)


def softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The gradient by softmax's input, from its output y (M, N); see ``kernels.Variant``."""
    return _of_rows(g, y, out, log=False)


def log_softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The gradient by log-softmax's input, from its output y (M, N); see ``kernels.Variant``."""
    return _of_rows(g, y, out, log=True)


def unsupported(x: torch.Tensor) -> str | None:
    """None, or why this kernel cannot run matrices like x."""
    if not _is_whole(widest_pack(x.element_size(), x.data_ptr(), x.stride(0) | x.shape[1]), x):
        return f"N = {x.shape[1]}: rows are not whole words of 16 bytes, or do not begin at such"
    return cuda.why_unsupported(plan, x)


def _of_rows(g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None, log: bool) -> torch.Tensor:
    out = empty_output(y, out)
    strides = (out.stride(0), g.stride(0), y.stride(0))
    if not launch(g, y, out, *y.shape, strides, log):
        raise ValueError(f"N = {y.shape[1]}: rows are not whole words of 16 bytes, or too long")
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
    """As ``triton_backward.launch``, of one dtype; False, and nothing done, for other rows."""
    addresses = dx.data_ptr(), g.data_ptr(), y.data_ptr()
    together = addresses[0] | addresses[1] | addresses[2]
    pack = widest_pack(y.element_size(), together, strides[0] | strides[1] | strides[2] | cols)
    if not _is_whole(pack, y) or cols * y.element_size() > _max_bytes(y.get_device()):
        return False
    key = (plan, y.dtype, rows, cols, pack, log, y.get_device())
    cuda.launch_with(key, (*addresses, *strides, rows, cols))
    return True


@functools.cache
def _max_bytes(device: int) -> int:
    """Of a row that the largest cluster takes."""
    return OF_BLOCK * cuda.gpu_info(device).max_cluster


def _is_whole(pack: int, x: torch.Tensor) -> bool:
    return pack * x.element_size() == VEC_BYTES
