"""Copy, add or read matrices in Triton: the candidates of ``roofline`` that need no alignment.

``out.copy_(x)`` cannot serve as a roofline: in a CUDA graph it becomes a memcpy node, which took
388 µs for 512 MB on an H200, where the same copy outside of a graph took 257 µs.
"""

import torch
import triton
import triton.language as tl

from .base import Call

# (bytes per program, warps per program): 16 to 128 bytes in flight per thread
SHAPES = ((2048, 4), (4096, 4), (8192, 4), (16384, 4), (65536, 16))
BLOCK_BYTES = {f"triton_{size}": size for size, _ in SHAPES}  # candidate's name -> bytes

# Elements of a multiple of 16 bytes in every dtype. Triton vectorises only if it can tell that the
# mask ends at a whole vector, so the first program moves the remaining elements separately.
PACK = tl.constexpr(16)


@triton.jit
def copy_kernel(out_ptr, x_ptr, n_elements, BLOCK: tl.constexpr):
    whole = n_elements // PACK * PACK
    copy_before(whole, out_ptr, x_ptr, block_of_program(BLOCK))
    if tl.program_id(0) == 0:
        copy_before(n_elements, out_ptr, x_ptr, whole + tl.arange(0, PACK))


@triton.jit
def add_kernel(out_ptr, g_ptr, y_ptr, n_elements, BLOCK: tl.constexpr):
    whole = n_elements // PACK * PACK
    add_before(whole, out_ptr, g_ptr, y_ptr, block_of_program(BLOCK))
    if tl.program_id(0) == 0:
        add_before(n_elements, out_ptr, g_ptr, y_ptr, whole + tl.arange(0, PACK))


@triton.jit
def read_kernel(out_ptr, x_ptr, n_elements, BLOCK: tl.constexpr):
    whole = n_elements // PACK * PACK
    total = sum_before(whole, x_ptr, block_of_program(BLOCK))
    if tl.program_id(0) == 0:
        total += sum_before(n_elements, x_ptr, whole + tl.arange(0, PACK))
    tl.store(out_ptr + tl.program_id(0), total)


@triton.jit
def block_of_program(BLOCK: tl.constexpr):
    return tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def copy_before(end, out_ptr, x_ptr, offsets):
    inside = offsets < end
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)


@triton.jit
def add_before(end, out_ptr, g_ptr, y_ptr, offsets):
    inside = offsets < end
    g = tl.load(g_ptr + offsets, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, (g + y).to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def sum_before(end, x_ptr, offsets):
    return tl.sum(tl.load(x_ptr + offsets, mask=offsets < end, other=0.0).to(tl.float32))


KERNELS = {"copy": copy_kernel, "add": add_kernel, "read": read_kernel}


def candidates(kind: str, x: torch.Tensor) -> dict[str, Call]:
    """Return calls by name, for contiguous matrices like x; ``kind`` is a key of KERNELS.

    A call takes (x, out) to copy, (g, y, out) to add, or (x,) to read, and then writes one number
    per program to its own tensor.
    """
    kernel, n = KERNELS[kind], x.numel()

    def with_shape(block: int, warps: int) -> Call:
        programs = triton.cdiv(n, block)
        numbers = (x.new_empty(programs, dtype=torch.float32),) if kind == "read" else ()

        def move(*matrices: torch.Tensor):
            *inputs, out = (*matrices, *numbers)
            kernel[(programs,)](out, *inputs, n, BLOCK=block, num_warps=warps)

        return move

    return {
        name: with_shape(size // x.itemsize, warps)
        for name, (size, warps) in zip(BLOCK_BYTES, SHAPES, strict=True)
    }
