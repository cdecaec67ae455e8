"""From a tensor and a dimension to rows and columns, and to the kernel for them.

Softmax over the last dimension is softmax over the rows of a matrix: ``forward``,
``backward``. Over another dimension a tensor is (outer, n, inner), and kernels of their own
read it as it lies (``inner_dim``): transposing it to rows and back would move every byte three
times.
"""

import functools
import importlib
import math
from types import ModuleType

import torch
from torch import Tensor

from ..tensors import DTYPES
from . import device as devices

LONGEST = 2**30  # of a row: kernels count its columns, rounded up to a tile, in 32 bits
MOST = 2**31 - 1  # blocks of a grid


def forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
    """Softmax of any x over ``dim`` (0 … rank-1), in dtype or else x's; contiguous."""
    if x.dtype in DTYPES and dtype in (None, x.dtype, torch.float32) and devices.usable(x):
        return launch_forward(x, dim, log, dtype)
    return _torch_forward(x, dim, log, dtype)


def backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """The gradient by softmax's input, in dtype, contiguous; g by the result y, of y's shape."""
    if {g.dtype, y.dtype, dtype} <= set(DTYPES) and devices.usable(y) and devices.usable(g):
        return launch_backward(g, y, dim, log, dtype)
    return _torch_backward(g, y, dim, log, dtype)


def launch_forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
    """As ``forward``, for x of one of DTYPES on a usable device."""
    shape, numel = x.shape, x.numel()
    n = stride = shape[dim]
    if numel == 0 or n > LONGEST or numel // n > MOST:
        return _torch_forward(x, dim, log, dtype)
    inner = 1 if dim == len(shape) - 1 else math.prod(shape[dim + 1 :])
    if dtype is None and x.is_contiguous():
        out = torch.empty_like(x)  # to name the default dtype and layout costs 0.2 µs
    else:
        x, stride = _rows(x, n, inner)
        out = _empty(x, dtype or x.dtype)
    if inner == 1:
        _launch(_module("forward").forward, x, out, numel // n, n, stride, log)
    else:
        _launch(_module("inner_dim").forward, x, out, numel // (n * inner), n, inner, log)
    return out


def launch_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """As ``backward``, for g and y of DTYPES on one usable device."""
    shape, numel = y.shape, y.numel()
    n = shape[dim]
    if numel == 0 or n > LONGEST or numel // n > MOST:
        return _torch_backward(g, y, dim, log, dtype)
    inner = 1 if dim == len(shape) - 1 else math.prod(shape[dim + 1 :])
    g, stride = _rows(g, n, inner)
    y = y.contiguous()
    dx = torch.empty_like(y) if dtype is y.dtype else _empty(y, dtype)
    if inner == 1:
        _launch(_module("backward").backward, g, y, dx, numel // n, n, stride, log)
    else:
        _launch(_module("inner_dim").backward, g, y, dx, numel // (n * inner), n, inner, log)
    return dx


def _launch(launch, x: Tensor, *more) -> None:
    """``launch(x, *more)`` with x's GPU as the current one."""
    device = x.get_device()
    if device < 0 or device == torch.cuda.current_device():
        launch(x, *more)
    else:
        with torch.cuda.device(device):
            launch(x, *more)


@functools.cache
def _module(name: str) -> ModuleType:
    """A file of kernels. They import Triton: only now, as there are machines without it."""
    return importlib.import_module(f"{__package__}.{name}")


def _rows(x: Tensor, n: int, inner: int) -> tuple[Tensor, int]:
    """x, or a contiguous copy, and how many elements its rows of n are apart.

    Rows may lie apart, or be one row for all; with inner > 1 there are no rows, and it is a copy
    unless x is contiguous.
    """
    if x.is_contiguous():
        return x, n
    stride = row_stride(x) if inner == 1 and x.shape[-1] == n else None
    return (x.contiguous(), n) if stride is None else (x, stride)


def row_stride(x: Tensor) -> int | None:
    """The one distance between all rows (the last dimension) of x, or None where there is none.

    That of ``x.view(-1, x.shape[-1])``, which raises where a copy would be needed. None also where
    the elements of a row are not adjacent.
    """
    *outer, (columns, distance) = zip(x.shape, x.stride(), strict=True)
    if columns > 1 and distance != 1:
        return None
    rows = 1
    for size, stride in reversed(outer):
        if size == 1:
            continue
        if rows == 1:
            distance = stride
        elif stride != rows * distance:
            return None
        rows *= size
    return distance


def _empty(x: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def _torch_forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
    x = x if dtype is None else x.to(dtype)
    return (torch._log_softmax if log else torch._softmax)(x, dim, False)


def _torch_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    name = "_log_softmax_backward_data" if log else "_softmax_backward_data"
    return getattr(torch, name)(g, y, dim, y.dtype).to(dtype)
