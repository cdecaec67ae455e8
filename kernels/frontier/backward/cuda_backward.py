"""Gradients in CUDA C++: each row in the registers of a warp, a block, or a cluster.

Idea: softmax has dx = y·(g - Σ g·y), and log-softmax dx = g - exp(y)·Σ g. Every lane loads its
16-byte vectors of g and y and keeps them in registers. Sums are merged, and vectors of unaligned
rows assembled, as in ``frontier_rows``; g, y and dx may each have another offset from an aligned
address. With float32 g and y, dx may have 16 bits; it is then the float32 dx, rounded once.
Bytes: 3·M·N·itemsize, the minimum.
Limits: N up to 262,144 in float32, twice that in 16 bits; half as much with clusters of 8 blocks.
Compute capability 9.0, or 8.0 where one block is enough.
Source: the formulas of ``triton_backward``.
Use: ``pip install .`` in a clone; the gradients of ``softmax_bench``'s functions run it.
"""

from collections.abc import Callable
from pathlib import Path

from ...contract import VEC_BYTES, WARP
from ...cuda import launch as cuda
from ...cuda.plan import (
    PORTABLE_CLUSTER,
    LaunchPlan,
    Problem,
    instantiate_for,
    scale_alignment,
    widest_pack,
)
from ...tensors import backward_functions
from .._tiling import is_unaligned, plan_of, vectors_of
from ..frontier_rows import layout_of

GRADIENTS = "SoftmaxGrad", "LogSoftmaxGrad"  # C++ types in the source
SOURCE = Path(__file__).with_suffix(".cu")
# Vectors per lane, of g and of y each. A row takes the first value with which at most 8 blocks
# share it, because a GPU can place fewer clusters of 16.
PER_LANE = 4, 8
MAX_WARPS = 16  # warps per block, at most
# Bytes of a row that one block holds, at most.
BLOCK_BYTES = WARP * PER_LANE[-1] * MAX_WARPS * VEC_BYTES


def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length; see ``plan.Planner``."""
    vectors, max_cluster_blocks = vectors_of(problem), problem.gpu.max_cluster_blocks
    layouts = (layout_of(vectors, per_lane, MAX_WARPS, max_cluster_blocks) for per_lane in PER_LANE)
    layouts = sorted(filter(None, layouts), key=lambda layout: layout.cluster > PORTABLE_CLUSTER)
    if not layouts:
        return ()
    sizes = *layouts[0], is_unaligned(problem)
    kernel = instantiate_for("backward", problem, *sizes, epilogues=GRADIENTS)
    return plan_of(SOURCE, kernel, layouts[0], problem.rows)


def launch(
    g, y, dx, rows: int, cols: int, strides: tuple[int, int, int], log: bool
) -> Callable | bool:
    """Launch the backward as ``tensors.backward_functions`` asks; it returns False for long rows.

    With float32 g and y, dx may have 16 bits. Returns ``launch(dx, g, y, *strides, rows, cols)`` of
    ``submitter``, which repeats the launch, as ``cuda.launch_rows`` does.
    """
    itemsize, device = y.element_size(), y.get_device()
    if cols * itemsize > BLOCK_BYTES * cuda.gpu_info(device).max_cluster_blocks:
        return False
    addresses = dx.data_ptr(), g.data_ptr(), y.data_ptr()
    narrow, dx_aligned_as = None, addresses[0]
    if dx.dtype is not y.dtype:
        narrow, dx_aligned_as = dx.dtype, scale_alignment(addresses[0], dx.element_size(), itemsize)
    any_address = dx_aligned_as | addresses[1] | addresses[2]
    pack = widest_pack(itemsize, any_address, strides[0] | strides[1] | strides[2] | cols)
    arguments = *addresses, *strides, rows, cols
    key = plan, y.dtype, rows, cols, pack, log, device, narrow
    return cuda.launch_with(key, arguments)


unsupported = cuda.functions(plan).unsupported
softmax_backward, log_softmax_backward = (
    cuda.launches(plan, log=log)(function)
    for function, log in zip(backward_functions(launch, cuda.TOO_LONG), (False, True), strict=True)
)
