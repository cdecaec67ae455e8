"""Choose the kernel for a softmax over any dimension, and for its backward.

A tensor is (outer, n, inner), and the softmax is over n; its rows are adjacent if inner is 1.
Forward: ``frontier`` takes rows of one dtype in and out where the GPU can run it. Long rows whose
dtype changes are widened first. ``triton_rows`` takes all others, and ``triton_inner_dim`` every
larger inner. The choice depends on n, inner and the dtypes, never on outer: a row gives the same
bits in any batch.
Backward: ``cuda_backward`` takes rows longer than MIN_BYTES where the GPU can run it and the dtypes
are equal. ``triton_backward`` takes all other rows, ``triton_inner_dim`` every larger inner.
``data/recorded/h200/softmax_backward.csv`` has both over the length of a row on an H200.
"""

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from ..contract import VEC_BYTES
from ..frontier.backward import triton_backward
from . import triton_inner_dim, triton_rows
from .eligible import runs_cuda_kernels

# Of a row, by whether its bytes are a multiple of a vector. If so, both kernels are within 1 % of
# each other up to here on an H200. If not, Triton loads element by element. On an H100 it is 6 %
# faster at 514 bytes in 16 bits, and 1 to 2 % slower from 1020 bytes on, in 32 bits from 508.
MIN_BYTES = {True: 2**14, False: 768}
# A row up to this many columns is widened in place, which saves a matrix. ``frontier`` reads the
# whole row before its first store, because every store depends on the row's sum. __restrict__ would
# permit a second load; test_frontier_gpu.py checks that there is none.
MAX_IN_PLACE = 2**18


def forward(
    x: Tensor, out: Tensor, outer: int, n: int, inner: int, stride: int, log: bool
) -> Callable | None:
    """Write the (log-)softmax over n of x (outer, n, inner) to ``out``.

    x and out are on the current GPU, of any rank. x has ``stride`` elements from one of outer to
    the next, and is contiguous within; out is contiguous; each has its own dtype. Sizes are given
    in numbers, because each view would cost the host 0.8 µs.
    Returns what ``cuda.launch.launch_rows`` does, or None.
    """
    if inner > 1:
        return triton_inner_dim.forward(x, out, outer, n, inner, log)
    launch = _cuda_launches(x.get_device())[0]
    if launch and (x.dtype is out.dtype or n > triton_rows.LONGEST_BLOCK):
        if x.dtype is not out.dtype:
            wide = out if n <= MAX_IN_PLACE else torch.empty_like(out)
            x, stride = wide.copy_(x), n
        try:
            return launch(x, out, outer, n, stride, n, log)
        except ValueError:  # this process has a part of the GPU, and too few blocks fit for a row
            pass
    return triton_rows.forward(x, out, outer, n, stride, log)


def backward(
    g: Tensor, y: Tensor, dx: Tensor, outer: int, n: int, inner: int, stride: int, log: bool
) -> None:
    """Write the gradient with respect to the input of a softmax over n to ``dx``.

    g, y and dx are on the current GPU and have any rank and dtype. y and dx are contiguous. g is as
    x in ``forward``, contiguous if inner is not 1; a stride of 0 repeats one row.
    """
    if inner > 1:
        return triton_inner_dim.backward(g, y, dx, outer, n, inner, log)
    arguments = g, y, dx, outer, n, (n, stride, n), log
    row_bytes = n * y.element_size()
    long = row_bytes > MIN_BYTES[row_bytes % VEC_BYTES == 0] and g.dtype is y.dtype is dx.dtype
    if not (long and (launch := _cuda_launches(y.get_device())[1]) and launch(*arguments)):
        triton_backward.launch(*arguments)


@functools.cache
def _cuda_launches(device: int) -> tuple[Callable | None, Callable | None]:
    """Return the launches of ``frontier`` and ``cuda_backward``; None where one cannot run."""
    if not runs_cuda_kernels(device):
        return None, None
    from ..cuda import launch  # needs cuda-core
    from ..frontier import frontier
    from ..frontier.backward import cuda_backward

    return functools.partial(launch.launch_rows, frontier.plan), cuda_backward.launch
