"""The backward of softmax of a matrix's rows, for the drop-in: which kernel a row of a length gets.

``cuda_backward`` keeps rows beyond MIN_BYTES where the GPU can run it, all is of one dtype and
rows are whole words of 16 bytes; all others are ``triton_backward``'s.
Over N on an H200: ``data/recorded/h200/softmax_backward.csv``.
"""

import functools

from torch import Tensor

from ..frontier.backward import triton_backward
from ..frontier.backward.triton_backward import (
    slope as slope,  # the same formula over another dimension
)
from .device import has_clusters

MIN_BYTES = 2**14  # of a row; up to these both are within 1 % of each other on an H200


def backward(
    g: Tensor, y: Tensor, dx: Tensor, rows: int, cols: int, stride: int, log: bool
) -> None:
    """Write the gradient by the input of a (rows, cols) matrix to ``dx``.

    All on one GPU, the current one, of any rank and with a dtype each; y and dx contiguous, g with
    ``stride`` elements from row to row, 0 for one row for all, and adjacent columns.
    """
    matrix = g, y, dx, rows, cols, (cols, stride, cols), log
    long = cols * y.element_size() > MIN_BYTES and g.dtype is y.dtype is dx.dtype
    if not (long and (launch := _of_cuda(y.get_device())) and launch(*matrix)):
        triton_backward.launch(*matrix)


@functools.cache
def _of_cuda(device: int):
    """``cuda_backward.launch``; None where its kernels, or some, do not run."""
    if not has_clusters(device):
        return None
    from ..frontier.backward import cuda_backward

    return cuda_backward.launch
