"""A copy and a softmax whose loads and stores give hints to the cache, for ``cache_hints``."""

import torch
import triton
import triton.language as tl

COPIED = 16384  # bytes of a program


@triton.jit
def hinted_copy_kernel(
    out_ptr, x_ptr, n_elements, BLOCK: tl.constexpr, LOADS: tl.constexpr, STORES: tl.constexpr
):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=inside, eviction_policy=LOADS)
    tl.store(out_ptr + offsets, x, mask=inside, eviction_policy=STORES)


@triton.jit
def hinted_softmax_kernel(
    out_ptr, x_ptr, n_cols, BLOCK: tl.constexpr, LOADS: tl.constexpr, STORES: tl.constexpr
):
    row, cols = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    at, inside = row * n_cols + cols, cols < n_cols
    x = tl.load(x_ptr + at, mask=inside, other=float("-inf"), eviction_policy=LOADS)
    x = x.to(tl.float32)
    powers = tl.exp(x - tl.max(x, axis=0))
    y = (powers / tl.sum(powers, axis=0)).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + at, y, mask=inside, eviction_policy=STORES)


def copy(x: torch.Tensor, out: torch.Tensor, loads: str, stores: str) -> None:
    """Copy contiguous x (M, N); hints: "", "evict_first" or "evict_last"."""
    block = COPIED // x.element_size()
    hinted_copy_kernel[(triton.cdiv(x.numel(), block),)](
        out, x, x.numel(), BLOCK=block, LOADS=loads, STORES=stores
    )


def softmax(x: torch.Tensor, out: torch.Tensor, loads: str, stores: str) -> None:
    """Softmax of contiguous rows of x (M, N), each in one block; hints as for ``copy``."""
    rows, cols = x.shape
    block = triton.next_power_of_2(cols)
    warps = 16 if block >= 2**13 else 8 if block >= 2**12 else 4
    hinted_softmax_kernel[(rows,)](
        out, x, cols, BLOCK=block, LOADS=loads, STORES=stores, num_warps=warps
    )
