"""Choose the kernel for the softmax of a matrix's rows, and for its backward.

Forward: ``frontier`` takes rows of one dtype in and out where the GPU can run it. Long rows whose
dtype changes are widened first and then computed in place. All others go to the Triton kernel of
``rows``. The choice depends on N and the dtypes, never on M: a row gives the same bits in any
batch.
Backward: ``cuda_backward`` takes rows longer than MIN_BYTES where the GPU can run it, the dtypes
are equal and rows are aligned to 16 bytes. ``triton_backward`` takes all others.
``data/recorded/h200/softmax_backward.csv`` has both over N on an H200.
"""

import functools
from collections.abc import Callable

from torch import Tensor

from ..frontier.backward import triton_backward
from . import rows as triton_rows
from .device import has_clusters

MIN_BYTES = 2**14  # of a row; up to here both kernels are within 1 % of each other on an H200


def forward(x: Tensor, out: Tensor, rows: int, cols: int, stride: int, log: bool) -> None:
    """Write the (log-)softmax of a (rows, cols) matrix to ``out``.

    x and out are on the current GPU, of any rank. x has ``stride`` elements from row to row and
    adjacent columns; out is contiguous; each has its own dtype. A matrix is given in numbers,
    because each view would cost the host 0.8 µs.
    """
    launch = _frontier(x.get_device())
    if launch and (x.dtype is out.dtype or cols > triton_rows.LONGEST_BLOCK):
        if x.dtype is not out.dtype:
            x, stride = out.copy_(x), cols  # frontier reads an element before it writes it
        launch(x, out, rows, cols, stride, cols, log)
    else:
        triton_rows.forward(x, out, rows, cols, stride, log)


@functools.cache
def _frontier(device: int) -> Callable | None:
    """Return the launch of ``frontier``, or None where some of its kernels do not run."""
    if not has_clusters(device):
        return None
    from ..cuda import launch  # needs cuda-core
    from ..frontier import frontier

    return functools.partial(launch.launch_rows, frontier.plan)


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
