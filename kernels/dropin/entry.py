"""Map a tensor and a dimension to (outer, n, inner), and launch the kernel for a softmax over n.

Over the last dimension n is a row of a matrix, and inner is 1. Over another one n is a column, also
where inner is 1, so that a column gives the same bits beside any number of others. Its kernel reads
the tensor in place: transposing it to rows and back would move every byte three times.
"""

import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from ..contract import LONGEST_ROW, MAX_BLOCKS, VEC_BYTES
from ..tensors import DTYPES, current_device
from . import eligible

MAX_KNOWN = 4096  # shapes
# Rows, or columns beside each other, of a call. A kernel rounds them up to whole tiles in 32 bits.
MAX_ROWS = MAX_BLOCKS - 32
# Inductor's allocator takes 0.7 µs, torch.empty_like 1.9 µs (H100 machine).
_empty_cuda = eligible.torch_private("_C._dynamo.guards:_empty_strided_cuda")


class KnownLaunch(NamedTuple):
    """How the softmax of rows is computed for one shape and dimension; it holds no tensor."""

    allocate: Callable[[], Tensor]  # contiguous, of the shape
    launch: Callable[..., None]
    rows: int
    cols: int


# By shape, dtype, device, dim and log, for contiguous, aligned tensors: nothing else decides.
_known: dict[tuple, KnownLaunch] = {}


def forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
    """Return the contiguous softmax of any x over ``dim`` (0 … rank-1), in dtype or x's dtype."""
    y = None
    if x.dtype in DTYPES and dtype in (None, x.dtype, torch.float32) and eligible.usable(x):
        y = launch_forward(x, dim, log, dtype)
    return torch_forward(x, dim, log, dtype) if y is None else y


def backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """Return the gradient with respect to the input, contiguous in dtype, from g and y."""
    dx = None
    if {g.dtype, y.dtype, dtype} <= set(DTYPES) and eligible.usable(y) and eligible.usable(g):
        dx = launch_backward(g, y, dim, log, dtype)
    return torch_backward(g, y, dim, log, dtype) if dx is None else dx


def has_kernel(numel: int, n: int) -> bool:
    """Return whether the kernels take so many elements in rows of n; torch computes all others."""
    return numel > 0 and n <= LONGEST_ROW and numel // n <= MAX_ROWS


def launch_forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor | None:
    """Compute ``forward`` for x of one of DTYPES on a usable device; None if no kernel can."""
    if (dtype is None or dtype is x.dtype) and (known := known_launch(x, dim, log)):
        return repeat(x, dim, log, known)
    return launch_new(x, dim, log, dtype)


def launch_new(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor | None:
    """Compute ``launch_forward`` where no launch is known."""
    shape, numel = x.shape, x.numel()
    n = shape[dim]
    if not has_kernel(numel, n):
        return None
    inner = math.prod(shape[dim + 1 :])
    repeatable = (dtype is None or dtype is x.dtype) and x.is_contiguous()
    x, stride = _rows(x, n, dim)
    out = empty_like(x, dtype or x.dtype)
    launch = _launch(_dispatch().forward, x, out, numel // (n * inner), n, inner, stride, log)
    if not launch:
        return None
    if launch is not True and repeatable and x.data_ptr() % VEC_BYTES == 0:
        _remember(x, out, dim, log, launch)
    return out


def known_launch(x: Tensor, dim: int, log: bool) -> KnownLaunch | None:
    """Return the launch that was made for an x of this shape, or None if x needs another one.

    ``dim`` may be negative.
    """
    device = x.get_device()
    known = _known.get((x.shape, x.dtype, device, dim, log))
    if known is None or device != current_device() or not x.is_contiguous():
        return None
    address = eligible.address_of(x)
    return known if address and address % VEC_BYTES == 0 else None


def repeat(x: Tensor, dim: int, log: bool, known: KnownLaunch) -> Tensor | None:
    """Return what ``launch_forward`` computes, in a third of the host's time: all is decided."""
    allocate, launch, rows, cols = known
    out = allocate()
    try:
        launch(out.data_ptr(), x.data_ptr(), cols, cols, rows, cols)
    except Exception:  # such as a context with fewer multiprocessors than before
        _known.clear()
        return launch_new(x, dim % x.dim(), log, None)  # which tries again, then the other routes
    return out


def _remember(x: Tensor, out: Tensor, dim: int, log: bool, launch: Callable[..., None]) -> None:
    """Let ``known_launch`` find the launch for tensors like x and out, over ``dim``."""
    if len(_known) >= MAX_KNOWN:
        _known.clear()
    sizes = tuple(out.shape), out.stride()
    if x.is_cuda and _empty_cuda:
        allocate = functools.partial(_empty_cuda[0], *sizes, x.dtype)
    else:
        allocate = functools.partial(torch.empty_strided, *sizes, dtype=x.dtype, device=x.device)
    n = x.shape[dim]
    known = KnownLaunch(allocate, launch, x.numel() // n, n)
    for name in (dim, dim - x.dim()):
        _known[x.shape, x.dtype, x.get_device(), name, log] = known


def launch_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor | None:
    """Compute ``backward`` for g and y of DTYPES on one usable device; None if no kernel can."""
    shape, numel = y.shape, y.numel()
    n = shape[dim]
    if not has_kernel(numel, n):
        return None
    inner = math.prod(shape[dim + 1 :])
    g, stride = _rows(g, n, dim)
    y = y.contiguous()
    dx = empty_like(y, dtype)
    sizes = numel // (n * inner), n, inner, stride
    return dx if _launch(_dispatch().backward, g, y, dx, *sizes, log) else None


def _launch(launch, x: Tensor, *arguments):
    """Return ``launch(x, *arguments)``, called with x's GPU as the current one."""
    device = x.get_device()
    if device < 0 or device == current_device():
        return launch(x, *arguments)
    with torch.cuda.device(device):
        return launch(x, *arguments)


@functools.cache
def _dispatch() -> ModuleType:
    from . import dispatch  # here, because a machine without a GPU needs none of it

    return dispatch


def _rows(x: Tensor, n: int, dim: int) -> tuple[Tensor, int | None]:
    """Return x or a contiguous copy, and the stride of its rows; None for columns.

    Rows may be non-contiguous, and a stride of 0 repeats one row. Columns are copied unless x is
    contiguous.
    """
    if dim < x.dim() - 1:
        return x.contiguous(), None
    if x.is_contiguous():
        return x, n
    try:
        matrix = x.view(-1, n)
    except RuntimeError:  # its rows have several strides
        pass
    else:
        if n == 1 or matrix.stride(1) == 1:
            return x, matrix.stride(0)
    return x.contiguous(), n


def empty_like(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a new tensor of x's shape with the strides of a contiguous one.

    A contiguous x may have other strides in dimensions of size 1, and torch's softmax drops them.
    """
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def torch_forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
    """Compute ``forward`` by torch's own kernel."""
    x = x if dtype is None else x.to(dtype)
    return getattr(torch.ops.aten, "_log_softmax" if log else "_softmax")(x, dim, False)


def torch_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """Compute ``backward`` by torch's own kernel."""
    name = "_log_softmax_backward_data" if log else "_softmax_backward_data"
    return getattr(torch.ops.aten, name)(g, y, dim, y.dtype).to(dtype)
