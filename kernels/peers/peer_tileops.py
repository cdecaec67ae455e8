"""TileOPs' softmax in TileLang: each row in the registers of a warp, a block, or a cluster.

Idea: one of six kernels, by shape. Up to 32 lanes of a warp share a row of up to 2048 bytes, if it
splits evenly. A block of 256 threads handles any other row, up to N = 32768. A cluster of 2 to 8
blocks handles a longer row that splits evenly, partly in shared memory. Other long rows are read
twice, the second time backwards. Few long rows are split over clusters of 16 blocks, or over the
whole GPU: its blocks meet at a grid barrier, or a second kernel reads the row again. Clusters need
compute capability 9.0. Warps and clusters load x with the L2 cache policy ``evict_last``, and so do
blocks of softmax where N is a multiple of 256 vectors of 16 bytes, up to 16384. No other load or
store has a policy.
Bytes: 2·M·N·itemsize; 3·M·N·itemsize, less what the caches serve, where a row is read twice. If a
block handles a row whose N is no multiple of 256, its results are copied: 4·M·N·itemsize.
Limits: compute capability 8.0, 8.6, 8.9 or 9.0. The kernels need contiguous x and out that begin at
multiples of 16 bytes, and out with N rounded up to 256 where a block handles a row. TileOPs copies
what is not so, and returns a new tensor. This variant calls the compiled kernel with TileOPs'
rules, not its search, and copies where TileOPs does. Every shape is compiled with nvcc, for 2 to 8
s, and TileLang keeps the result on disk.
Errors: at 256x128256 in bfloat16, with values from 0 to 1, an output is one step of bfloat16 below
the nearest number, which only an error of more than 5e-6 before the rounding explains.
Source: TileOPs (tile-ai/TileOPs), tileops/_kernels/reduction/softmax.py, softmax_on_chip.py and
softmax_warp_rows.py. The package needs Python 3.12.
Use: ``pip install tileops``; ``from tileops.reduction import SoftmaxFwdOp, LogSoftmaxFwdOp``;
``SoftmaxFwdOp(-1)(x)``.
"""

import functools
import inspect
import math
from collections.abc import Callable

import torch

from ..contract import VEC_BYTES
from . import _package

ON_REQUEST = True  # another project's kernel, from an optional package

with _package.optional_package(", this one on Python 3.12 or newer"):
    # TileOPs' operators would parse the descriptions of all others, for 3 s
    _package.skip_init("tileops._kernels", "tileops._kernels.reduction")
    import tilelang
    from tilelang.contrib import nvcc
    from tileops._kernels.reduction.call_spec import SoftmaxCall
    from tileops._kernels.reduction.softmax import (
        SoftmaxKernel,
        SoftmaxSplitKernel,
        SoftmaxStreamingKernel,
    )
    from tileops._kernels.reduction.softmax_on_chip import (
        SoftmaxClusterSplitKernel,
        SoftmaxOnChipKernel,
    )
    from tileops._kernels.reduction.softmax_warp_rows import SoftmaxWarpRowsKernel

tilelang.set_log_level("WARNING")  # or it reports every compilation

CAPABILITIES = ((8, 0), (8, 6), (8, 9), (9, 0))  # supported_archs in softmax.py
# TileOPs prefers a cluster to the grid or to a second pass, and takes SoftmaxKernel if all refuse.
KERNELS = (
    SoftmaxClusterSplitKernel,
    SoftmaxSplitKernel,
    SoftmaxOnChipKernel,
    SoftmaxStreamingKernel,
    SoftmaxWarpRowsKernel,
    SoftmaxKernel,
)


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why TileOPs cannot take x."""
    if reason := _package.unsupported(x):
        return reason
    major, minor = torch.cuda.get_device_capability(x.device)
    if (major, minor) not in CAPABILITIES:
        capabilities = ", ".join(f"{a}.{b}" for a, b in CAPABILITIES)
        return f"compute capability {major}.{minor}; TileOPs' kernels are made for {capabilities}"
    return None


@functools.cache
def _launch(op: str, shape: torch.Size, dtype: torch.dtype, device: torch.device) -> Callable:
    """Return ``launch(x, out)`` for contiguous, aligned matrices, compiled for one shape.

    Raises ImportError without a CUDA toolkit.
    """
    with _package.cuda_toolkit():
        nvcc.find_cuda_path()
    call = SoftmaxCall(
        device=device, shape=tuple(shape), axis=1, op_kind=op, dtype=dtype, out_dtype=dtype
    )
    kernel = next(k for k in KERNELS if not (k.unavailable(call) or k.refusal(call)))(call)
    if isinstance(kernel, SoftmaxSplitKernel):
        return _split_launch(kernel)
    program = kernel.program(kernel._compile)
    (written, _), run = program.single, _executable(program)
    if math.prod(written) > math.prod(shape):  # rows padded to a multiple of 256
        return lambda x, out: out.copy_(program(x)[:, : shape[1]])
    # a cluster's blocks are the rows of its matrix
    return lambda x, out: run(x.view(written), out.view(written))


def _split_launch(kernel: SoftmaxSplitKernel) -> Callable:
    """Return ``launch(x, out)`` for split rows, from the closure that holds TileOPs' programs."""
    parts = inspect.getclosurevars(kernel.program(kernel._launcher)).nonlocals
    if "fused" in parts:
        segments, run = kernel.call.m * parts["num_segs"], _executable(parts["fused"])

        def launch(x: torch.Tensor, out: torch.Tensor) -> None:
            maxima, sums = x.new_empty(2, segments, dtype=torch.float32)
            run(x, maxima, sums, out)

        return launch
    partials, run = parts["partials"], _executable(parts["finalize"])
    return lambda x, out: run(x, *partials(x), out)


def _executable(program) -> Callable:
    """Return the compiled function of the inputs and the output, which a program would allocate."""
    return program.adapter.get_exportable_executable()


def _into(op: str, x: torch.Tensor, out: torch.Tensor) -> None:
    aligned = x.clone() if x.data_ptr() % VEC_BYTES else x
    y = torch.empty_like(out) if out.data_ptr() % VEC_BYTES else out
    _launch(op, x.shape, x.dtype, x.device)(aligned, y)
    if y is not out:
        out.copy_(y)


softmax = _package.as_variant(functools.partial(_into, "softmax"), contiguous=True)
log_softmax = _package.as_variant(functools.partial(_into, "log_softmax"), contiguous=True)
