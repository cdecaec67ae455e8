"""The backward of softmax of a matrix's rows, for the drop-in: ``triton_backward``'s kernels."""

from torch import Tensor

from .triton_backward import launch
from .triton_backward import slope as slope  # the same formula over another dimension


def backward(
    g: Tensor, y: Tensor, dx: Tensor, rows: int, cols: int, stride: int, log: bool
) -> None:
    """Write the gradient by the input of a (rows, cols) matrix to ``dx``.

    All on one GPU, the current one, of any rank and with a dtype each; y and dx contiguous, g with
    ``stride`` elements from row to row, 0 for one row for all, and adjacent columns.
    """
    launch(g, y, dx, rows, cols, (cols, stride, cols), log)
