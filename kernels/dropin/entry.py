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
    """Hold how the softmax of one shape over one dimension is computed, and no tensor."""

    repeat: Callable[[Tensor], Tensor]
    options: tuple[int, bool, torch.dtype]  # ``dim``, ``log`` and the gradient's dtype


# Contiguous, aligned tensors are known by shape, dtype, dtype of the result (None: the same),
# device, dim and log. Nothing else decides.
known_launches: dict[tuple, KnownLaunch] = {}
# The same for gradients, by those of the output. Each computes dx from g and y.
_known_gradients: dict[tuple, Callable[[Tensor, Tensor], Tensor]] = {}


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
    known = known_launch(x, dim, log, dtype)
    return known.repeat(x) if known else launch_new(x, dim, log, dtype)


def launch_new(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> Tensor | None:
    """Compute ``launch_forward`` where no launch is known."""
    shape, numel = x.shape, x.numel()
    n = shape[dim]
    if not has_kernel(numel, n):
        return None
    inner, is_last = math.prod(shape[dim + 1 :]), dim == len(shape) - 1
    repeatable = is_last and x.is_contiguous() and x.data_ptr() % VEC_BYTES == 0
    x, stride = _rows(x, n, dim)
    out = empty_like(x, dtype or x.dtype)
    launch = _launch(_dispatch().forward, x, out, numel // (n * inner), n, inner, stride, log)
    if launch and launch is not True and repeatable:
        _remember(x, out, dim, log, launch)
    return out if launch else None


def first_launch(x: Tensor, dim: int, log: bool, dtype: torch.dtype | None) -> KnownLaunch:
    """Return what computes ``forward`` for this x, in the form of a launch that is known."""
    return KnownLaunch(lambda x: forward(x, dim, log, dtype), (dim, log, x.dtype))


def known_launch(
    x: Tensor, dim: int, log: bool, dtype: torch.dtype | None = None
) -> KnownLaunch | None:
    """Return the launch that was made for an x of this shape, or None if x needs another one.

    ``dim`` may be negative, and no argument is valid of necessity.
    """
    try:
        device = x.get_device()
        known = known_launches.get((x.shape, x.dtype, dtype, device, dim, log))
        if known is None or device != current_device() or not x.is_contiguous() or x.is_neg():
            return None
        address = x.data_ptr()
    except (RuntimeError, TypeError):  # x lies nowhere, or is nested or sparse; dtype is no dtype
        return None
    return known if address and address % VEC_BYTES == 0 else None


def _remember(x: Tensor, out: Tensor, dim: int, log: bool, launch: Callable[..., None]) -> None:
    """Let ``known_launch`` find the launch for tensors like x and out, over ``dim``."""
    n, dtype = x.shape[dim], out.dtype
    allocate, bound = _allocator(out), launch.bind(n, x.numel() // n, n)

    def repeat(x: Tensor) -> Tensor:
        """Return what ``forward`` does, in a third of the host's time: all is decided."""
        out = allocate()
        try:
            bound(out.data_ptr(), x.data_ptr(), n)
        except Exception:  # such as a context with fewer multiprocessors than before
            known_launches.clear()
            return forward(x, dim, log, dtype)  # tries again, then the other routes
        return out

    if len(known_launches) >= MAX_KNOWN:
        known_launches.clear()
    known = KnownLaunch(repeat, (dim, log, x.dtype))
    for dim_name in (dim, dim - x.dim()):
        for dtype_name in {dtype, None} if dtype is x.dtype else {dtype}:
            known_launches[x.shape, x.dtype, dtype_name, x.get_device(), dim_name, log] = known


def _allocator(x: Tensor) -> Callable[[], Tensor]:
    """Return what allocates a tensor like x, a contiguous one, on the current device."""
    sizes = tuple(x.shape), x.stride()
    if x.is_cuda and _empty_cuda:
        return functools.partial(_empty_cuda[0], *sizes, x.dtype)
    return functools.partial(torch.empty_strided, *sizes, dtype=x.dtype, device=x.device)


def launch_backward(g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype) -> Tensor | None:
    """Compute ``backward`` for g and y of DTYPES on one usable device; None if no kernel can."""
    known = known_gradient(g, y, dim, log, dtype)
    if known:
        return known(g, y)
    if not (eligible.in_memory(g) and eligible.in_memory(y)):
        return None
    shape, numel = y.shape, y.numel()
    n = shape[dim]
    if not has_kernel(numel, n):
        return None
    inner, is_last = math.prod(shape[dim + 1 :]), dim == len(shape) - 1
    repeatable = is_last and _known_by_shape(g, y, shape, y.dtype)
    g, stride = _rows(g, n, dim)
    y = y.contiguous()
    dx = empty_like(y, dtype)
    sizes = numel // (n * inner), n, inner, stride
    launch = _launch(_dispatch().backward, g, y, dx, *sizes, log)
    if launch and launch is not True and repeatable:
        _remember_gradient(y, dx, dim, log, launch)
    return dx if launch else None


def known_gradient(
    g: Tensor, y: Tensor, dim: int, log: bool, dtype: torch.dtype
) -> Callable[[Tensor, Tensor], Tensor] | None:
    """Return what computes dx for g and y of this shape, or None if they need another launch."""
    try:
        shape, y_dtype, device = y.shape, y.dtype, y.get_device()
        known = _known_gradients.get((shape, y_dtype, dtype, device, dim, log))
        if known is None or device != current_device() or device != g.get_device():
            return None
        return known if _known_by_shape(g, y, shape, y_dtype) else None
    except (RuntimeError, TypeError):
        return None


def _known_by_shape(g: Tensor, y: Tensor, shape: torch.Size, dtype: torch.dtype) -> bool:
    """Return whether both are contiguous and aligned, and g has y's shape and dtype."""
    if g.dtype is not dtype or g.shape != shape or g.is_neg() or y.is_neg():
        return False
    if not (g.is_contiguous() and y.is_contiguous()):
        return False
    first, second = g.data_ptr(), y.data_ptr()
    return first != 0 != second and (first | second) % VEC_BYTES == 0


def _remember_gradient(
    y: Tensor, dx: Tensor, dim: int, log: bool, launch: Callable[..., None]
) -> None:
    """Let ``known_gradient`` find the launch for tensors like y and dx, over ``dim``."""
    n, dtype = y.shape[dim], dx.dtype
    allocate, bound = _allocator(dx), launch.bind(n, n, n, y.numel() // n, n)

    def repeat(g: Tensor, y: Tensor) -> Tensor:
        dx = allocate()
        try:
            bound(dx.data_ptr(), g.data_ptr(), y.data_ptr())
        except Exception:
            _known_gradients.clear()
            return backward(g, y, dim, log, dtype)
        return dx

    if len(_known_gradients) >= MAX_KNOWN:
        _known_gradients.clear()
    for dim_name in (dim, dim - y.dim()):
        _known_gradients[y.shape, y.dtype, dtype, y.get_device(), dim_name, log] = repeat


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
