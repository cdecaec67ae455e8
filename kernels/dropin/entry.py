"""Map a tensor and a dimension to rows and columns, and launch the kernel for them.

Softmax over the last dimension is softmax over the rows of a matrix (``dispatch``).
Over another dimension the tensor is (outer, n, inner), and ``inner_dim`` reads it in place:
transposing it to rows and back would move every byte three times.
"""

import functools
import math
from types import ModuleType

import torch
from torch import Tensor

from ..contract import LONGEST_ROW, MAX_BLOCKS
from ..tensors import DTYPES
from . import eligible


def forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
    """Return the contiguous softmax of any x over ``dim`` (0 … rank-1), in dtype or x's dtype."""
    if x.dtype in DTYPES and dtype in (None, x.dtype, torch.float32) and eligible.usable(x):
        return launch_forward(x, dim, log, dtype)
    return _torch_forward(x, dim, log, dtype)


def backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """Return the gradient with respect to the input, contiguous in dtype, from g and y."""
    if {g.dtype, y.dtype, dtype} <= set(DTYPES) and eligible.usable(y) and eligible.usable(g):
        return launch_backward(g, y, dim, log, dtype)
    return _torch_backward(g, y, dim, log, dtype)


def has_kernel(numel: int, n: int) -> bool:
    """Return whether the kernels take so many elements in rows of n; torch computes all others."""
    return numel > 0 and n <= LONGEST_ROW and numel // n <= MAX_BLOCKS


def launch_forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
    """Compute ``forward`` for x of one of DTYPES on a usable device."""
    shape, numel = x.shape, x.numel()
    n = stride = shape[dim]
    if not has_kernel(numel, n):
        return _torch_forward(x, dim, log, dtype)
    inner = 1 if dim == len(shape) - 1 else math.prod(shape[dim + 1 :])
    if dtype is None and x.is_contiguous():
        out = torch.empty_like(x)  # dtype and memory_format would cost 0.2 µs
    else:
        x, stride = _rows(x, n, inner)
        out = empty_like(x, dtype or x.dtype)
    dispatch, inner_dim = _kernels()
    if inner == 1:
        _launch(dispatch.forward, x, out, numel // n, n, stride, log)
    else:
        _launch(inner_dim.forward, x, out, numel // (n * inner), n, inner, log)
    return out


def launch_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    """Compute ``backward`` for g and y of DTYPES on one usable device."""
    shape, numel = y.shape, y.numel()
    n = shape[dim]
    if not has_kernel(numel, n):
        return _torch_backward(g, y, dim, log, dtype)
    inner = 1 if dim == len(shape) - 1 else math.prod(shape[dim + 1 :])
    g, stride = _rows(g, n, inner)
    y = y.contiguous()
    dx = torch.empty_like(y) if dtype is y.dtype else empty_like(y, dtype)
    dispatch, inner_dim = _kernels()
    if inner == 1:
        _launch(dispatch.backward, g, y, dx, numel // n, n, stride, log)
    else:
        _launch(inner_dim.backward, g, y, dx, numel // (n * inner), n, inner, log)
    return dx


def _launch(launch, x: Tensor, *arguments) -> None:
    """Call ``launch(x, *arguments)`` with x's GPU as the current one."""
    device = x.get_device()
    if device < 0 or device == torch.cuda.current_device():
        launch(x, *arguments)
    else:
        with torch.cuda.device(device):
            launch(x, *arguments)


@functools.cache
def _kernels() -> tuple[ModuleType, ModuleType]:
    """Return the modules for rows and for another dimension."""
    from . import dispatch, inner_dim  # here, because some machines lack Triton

    return dispatch, inner_dim


def _rows(x: Tensor, n: int, inner: int) -> tuple[Tensor, int]:
    """Return x or a contiguous copy, and its row stride.

    Rows may be non-contiguous, and a stride of 0 repeats one row. With inner > 1 there are no rows,
    so x is copied unless it is contiguous.
    """
    if x.is_contiguous():
        return x, n
    stride = _row_stride(x) if inner == 1 and x.shape[-1] == n else None
    return (x.contiguous(), n) if stride is None else (x, stride)


def _row_stride(x: Tensor) -> int | None:
    """Return the stride of the rows (the last dimension) of x, or None if a copy is needed."""
    try:
        matrix = x.view(-1, x.shape[-1])
    except RuntimeError:
        return None
    return matrix.stride(0) if matrix.shape[1] == 1 or matrix.stride(1) == 1 else None


def empty_like(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a new contiguous tensor of x's shape."""
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def _torch_forward(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor:
    x = x if dtype is None else x.to(dtype)
    return getattr(torch.ops.aten, "_log_softmax" if log else "_softmax")(x, dim, False)


def _torch_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor:
    name = "_log_softmax_backward_data" if log else "_softmax_backward_data"
    return getattr(torch.ops.aten, name)(g, y, dim, y.dtype).to(dtype)
