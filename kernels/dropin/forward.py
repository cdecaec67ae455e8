"""Softmax of a matrix's rows, for the drop-in: which kernel a row of a given length gets.

``frontier`` where the GPU can run it and input and output are of one dtype. Else, up to 2^15
columns, ``triton_row``; of longer rows float32 comes out of 16 bits by widening them first, and
what is left goes to ``triton_online``, which has no log-softmax: for it rows are columns of one.
Over N on an H200: ``data/recorded/h200/online_softmax.csv``.
"""

import functools

import triton
from torch import Tensor

from ..published.triton_online import NUM_WARPS, TILE, softmax_fwd_kernel_online
from ..published.triton_row import softmax_fwd_kernel_row, warps_for
from . import inner_dim as inner
from .device import has_clusters

LONGEST_BLOCK = 2**15  # beyond it the row no longer fits in the registers of 16 warps


def forward(x: Tensor, out: Tensor, rows: int, cols: int, stride: int, log: bool) -> None:
    """Write the (log-)softmax of a (rows, cols) matrix to ``out``.

    x and out: on one GPU, the current one, of any rank; x has ``stride`` elements from row to row
    and adjacent columns, out is contiguous, each in a dtype of its own. A matrix in numbers,
    because each view would cost the host 0.8 µs.
    """
    short = cols <= LONGEST_BLOCK
    if (launch := _frontier(x.get_device())) and (x.dtype is out.dtype or not short):
        if x.dtype is not out.dtype:
            x, stride = out.copy_(x), cols  # then in place: a row is read before it is written
        launch(x, out, rows, cols, stride, cols, log)
    elif short:
        block = triton.next_power_of_2(cols)
        softmax_fwd_kernel_row[(rows,)](
            out, x, cols, stride, cols, BLOCK=block, LOG=log, num_warps=warps_for(block)
        )
    elif log:
        matrix = x.as_strided((rows, cols), (stride, 1)).contiguous()
        inner.forward(matrix, out, rows, cols, 1, log)
    else:
        softmax_fwd_kernel_online[(rows,)](
            out, x, cols, stride, cols, TILE=TILE, BACKWARDS=True, num_warps=NUM_WARPS
        )


@functools.cache
def _frontier(device: int):
    """``cuda.launch_rows`` for the frontier's kernels; None where they, or some, do not run."""
    if not has_clusters(device):
        return None
    from ..cuda import launch as cuda
    from ..frontier import frontier

    return functools.partial(cuda.launch_rows, frontier.specialise)
