"""Choose the kernel for the backward of the softmax of a matrix's rows.

``cuda_backward`` takes rows longer than MIN_BYTES where the GPU can run it, the dtypes are equal
and rows are aligned to 16 bytes. ``triton_backward`` takes all others.
``data/recorded/h200/softmax_backward.csv`` has both over N on an H200.
"""

import functools

from torch import Tensor

from ..frontier.backward import triton_backward
from .device import has_clusters

MIN_BYTES = 2**14  # of a row; up to here both kernels are within 1 % of each other on an H200


def backward(
    g: Tensor, y: Tensor, dx: Tensor, rows: int, cols: int, stride: int, log: bool
) -> None:
    """Write the gradient with respect to the input of a (rows, cols) matrix to ``dx``.

    g, y and dx are on the current GPU and have any rank and dtype. y and dx are contiguous. g has
    row stride ``stride``, where 0 repeats one row, and adjacent columns.
    """
    arguments = g, y, dx, rows, cols, (cols, stride, cols), log
    long = cols * y.element_size() > MIN_BYTES and g.dtype is y.dtype is dx.dtype
    if not (long and (launch := _cuda_launch(y.get_device())) and launch(*arguments)):
        triton_backward.launch(*arguments)


@functools.cache
def _cuda_launch(device: int):
    """Return ``cuda_backward.launch``, or None where some of its kernels do not run."""
    if not has_clusters(device):
        return None
    from ..frontier.backward import cuda_backward

    return cuda_backward.launch
