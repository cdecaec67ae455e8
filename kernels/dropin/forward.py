"""Choose the kernel for the softmax of a matrix's rows.

``frontier`` takes rows of one dtype in and out where the GPU can run it. Long rows whose dtype
changes are widened first and then computed in place. All others go to the Triton kernel of
``rows``. The choice depends on N and the dtypes, never on M: a row gives the same bits in any
batch.
"""

import functools
from collections.abc import Callable

from torch import Tensor

from . import rows as triton_rows
from .device import has_clusters


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
