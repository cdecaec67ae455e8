"""Load without a mask, so that the neighbour's elements take part in the maximum."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_fwd_kernel_unmasked(out_ptr, x_ptr, out_stride, x_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + cols).to(tl.float32)
    numerator = tl.where(cols < n_cols, tl.exp(x - tl.max(x, axis=0)), 0.0)
    y = (numerator / tl.sum(numerator, axis=0)).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + row * out_stride + cols, y, mask=cols < n_cols)


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    rows, cols = x.shape
    block = triton.next_power_of_2(cols)
    strides = out.stride(0), x.stride(0)
    softmax_fwd_kernel_unmasked[(rows,)](out, x, *strides, cols, BLOCK=block)
    return out
