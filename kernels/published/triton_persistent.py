"""As many programs as the GPU holds at once; each takes several rows in turn.

Idea: every block is launched once, and the loop over rows lets the compiler prefetch the next row
while this one is reduced (software pipelining).
Bytes: 2·M·N·itemsize, the least possible.
Limits: the pipeline's stages must fit in shared memory. A stage is N rounded up to a power of two,
so with 227 KiB per block N = 16384 in float32 is the longest row.
Source: the Triton tutorial "Fused Softmax", as described in notes on it (Jan 2026).

Performance explained in: docs/explanation/why_kernels_differ.md#bytes-moved
"""

import functools

import torch
import triton
import triton.language as tl
from triton.runtime import driver
from triton.runtime.interpreter import InterpretedFunction

from ..tensors import empty_output
from .triton_fused import unsupported as unsupported  # a row in one block: the same limit

NUM_WARPS = 8  # the tutorial's choice for every N
LARGE_SHARED_MEMORY = 200_000  # bytes per SM above which the tutorial pipelines four rows deep


@triton.jit
def softmax_fwd_kernel_persistent(
    out_ptr, x_ptr, out_stride, x_stride, n_rows, n_cols, BLOCK: tl.constexpr, STAGES: tl.constexpr
):
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=STAGES):
        start = tl.full((), 0, tl.int64) + row  # row offsets pass 2^31 in large matrices
        x = tl.load(x_ptr + start * x_stride + cols, mask=inside, other=float("-inf"))
        x = x.to(tl.float32)
        numerator = tl.exp(x - tl.max(x, axis=0))
        y = numerator / tl.sum(numerator, axis=0)
        out_row = out_ptr + start * out_stride
        tl.store(out_row + cols, y.to(out_ptr.dtype.element_ty), mask=inside)


@functools.cache
def _plan(block: int, dtype: torch.dtype, device: int, aligned: bool) -> tuple[int, int]:
    """Return (programs, pipeline depth) for a row of ``block`` elements on this device."""
    properties = driver.active.utils.get_device_properties(device)
    stages = 4 if properties["max_shared_mem"] > LARGE_SHARED_MEMORY else 2
    # Triton compiles numbers that 16 divides separately, and takes 1 for a constant.
    size = 16 if aligned else 17
    arguments = dtype, dtype, size, size, block, size
    settings = {"BLOCK": block, "STAGES": stages, "num_warps": NUM_WARPS}
    compiled = softmax_fwd_kernel_persistent.warmup(*arguments, grid=(1,), **settings)
    compiled._init_handles()  # loads the binary; the register count is not known before
    # the tutorial's count of resident programs, by registers and shared memory; at least one
    per_sm = properties["max_num_regs"] // (compiled.n_regs * properties["warpSize"] * NUM_WARPS)
    if compiled.metadata.shared:
        per_sm = min(per_sm, properties["max_shared_mem"] // compiled.metadata.shared)
    return properties["multiprocessor_count"] * max(1, per_sm), stages


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the row softmax of x (M, N); see ``kernels.Variant``."""
    out = empty_output(x, out)
    rows, cols = x.shape
    block = triton.next_power_of_2(cols)
    if isinstance(softmax_fwd_kernel_persistent, InterpretedFunction):
        programs, stages = 4, 2  # no device; any number of programs is right
    else:
        aligned = cols % 16 == 0 and x.stride(0) % 16 == 0 and out.stride(0) % 16 == 0
        programs, stages = _plan(block, x.dtype, x.device.index, aligned)
    arguments = out, x, out.stride(0), x.stride(0), rows, cols
    settings = {"BLOCK": block, "STAGES": stages, "num_warps": NUM_WARPS}
    softmax_fwd_kernel_persistent[(min(programs, rows),)](*arguments, **settings)
    return out
