"""Choose the kernel for a softmax over any dimension, and for its backward.

A tensor is (outer, n, inner), and the softmax is over n: over rows, if n is the last dimension, or
else over columns, of which inner lie beside each other.
Forward: ``frontier`` takes all rows where the GPU can run it. Rows of 16 bits that become float32
have the bits of rows that were cast first. ``triton_rows`` takes all rows elsewhere, and
``triton_inner_dim`` all columns. The choice depends on n, the dimension and the dtypes, never on
outer, inner or an address: a row gives the same bits in any batch and anywhere, and so does a
column, beside any number of others.
Backward: ``cuda_backward`` takes rows longer than MIN_BYTES where the GPU can run it and g has y's
dtype, as it has under autocast, too. ``triton_backward`` takes all other rows, and
``triton_inner_dim`` all columns. ``data/recorded/h200/softmax_backward.csv`` has both over the
length of a row on an H200.

Whatever fails on the way to a launch leaves the call to the next route: CUDA C++, then Triton, then
torch. NVRTC may be missing, the driver too old, the cluster too large for a part of a GPU. The
first failure of a route on a GPU is logged as a warning.
"""

import functools
import logging
from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor

from ..contract import VEC_BYTES
from .eligible import runs_cuda_kernels

# Bytes of a row, at most, that Triton's backward takes, by whether they are a multiple of a vector.
# If so, CUDA C++ takes up to 0.4 µs more on an H100 (1024x1024 in bfloat16; large ones are within
# 1 %), but its launch 34 µs less of the host. If not, Triton loads element by element. On an H100
# it is 6 % faster at 514 bytes in 16 bits, and 1 to 2 % slower from 1020 bytes on, in 32 bits from
# 508.
MIN_BYTES = {True: 2**11 - 1, False: 768}
# Triton compiles another instance for addresses and strides that are multiples of this number.
TRITON_ALIGNMENT = 16
MAX_FAILED = 4096  # calls that are remembered

logger = logging.getLogger(__package__.partition(".")[0])
_failed: set[tuple] = set()  # calls that a route failed at, as ``_first_that_works`` names them
_warned: set[tuple] = set()  # (route, device)


def forward(
    x: Tensor, out: Tensor, outer: int, n: int, inner: int, stride: int | None, log: bool
) -> Callable | bool:
    """Write the (log-)softmax over n of x (outer, n, inner) to ``out``.

    x and out are on the current GPU, of any rank. x has ``stride`` elements from one row to the
    next, and adjacent columns; for columns ``stride`` is None, and x contiguous. out is contiguous;
    each has its own dtype. Sizes are given in numbers, because each view would cost the host
    0.8 µs.
    Returns what ``cuda.launch.launch_rows`` does, True where Triton computed it, and False where
    no kernel could.
    """
    return _first_that_works(
        (_cuda_forward, _triton_forward), (x, out, outer, n, inner, stride, log), (x, out)
    )


def backward(
    g: Tensor, y: Tensor, dx: Tensor, outer: int, n: int, inner: int, stride: int | None, log: bool
) -> Callable | bool:
    """Write the gradient with respect to the input of a softmax over n to ``dx``.

    g, y and dx are on the current GPU and have any rank and dtype. y and dx are contiguous. g and
    ``stride`` are as x and its own in ``forward``; a stride of 0 repeats one row.
    Returns as ``forward``, the launch of ``cuda_backward``.
    """
    arguments = g, y, dx, outer, n, inner, stride, log
    return _first_that_works((_cuda_backward, _triton_backward), arguments, (g, y, dx))


def _first_that_works(
    routes: tuple[Callable, ...], arguments: tuple, tensors: tuple[Tensor, ...]
) -> Callable | bool:
    """Return what the first route returns that takes the call and does not fail; else False."""
    for route in routes:
        if _failed and _call(route, arguments, tensors) in _failed:
            continue
        try:
            if launched := route(*arguments):
                return launched
        except Exception as error:
            _note(_call(route, arguments, tensors), error)
    return False


def _call(route: Callable, arguments: tuple, tensors: tuple[Tensor, ...]) -> tuple:
    """Return what decides whether a route can compute a call: never the number of rows."""
    *_, n, _, stride, _ = arguments
    return route, tensors[0].get_device(), n, stride is None, *(tensor.dtype for tensor in tensors)


def _note(call: tuple, error: Exception) -> None:
    """Remember that a route failed, unless memory was short, and log it once for each GPU."""
    route, device, n, *_ = call
    if not _is_out_of_memory(error):
        if len(_failed) >= MAX_FAILED:
            _failed.clear()
        _failed.add(call)
    level = logging.DEBUG if (route, device) in _warned else logging.WARNING
    _warned.add((route, device))
    name, successor = ROUTES[route]
    reason = f"{type(error).__name__}: {error}"
    text = "%s failed on cuda:%d at rows of %d; %s computes them instead. %s"
    logger.log(level, text, name, device, n, successor, reason)


def _is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "OUT_OF_MEMORY" in str(error)


def _cuda_forward(x, out, outer, n, inner, stride, log) -> Callable | None:
    if stride is None or not (launch := _cuda_launches(x.get_device())[0]):
        return None
    return launch(x, out, outer, n, stride, n, log)


def _triton_forward(x, out, outer, n, inner, stride, log) -> bool:
    if stride is None:
        _triton().inner_dim.forward(x, out, outer, n, inner, log)
    else:
        x, stride = _as_contiguous_rows(x, outer, n, stride)
        y = _aligned_output(out, n)
        _triton().rows.forward(x, y, outer, n, stride, log)
        if y is not out:
            out.copy_(y)
    return True


def _cuda_backward(g, y, dx, outer, n, inner, stride, log) -> Callable | bool:
    row_bytes = n * y.element_size()
    if stride is None or row_bytes <= MIN_BYTES[row_bytes % VEC_BYTES == 0]:
        return False
    if g.dtype is not y.dtype or (dx.dtype is not y.dtype and y.dtype is not torch.float32):
        return False
    launch = _cuda_launches(y.get_device())[1]
    return launch and launch(g, y, dx, outer, n, (n, stride, n), log)


def _triton_backward(g, y, dx, outer, n, inner, stride, log) -> bool:
    if stride is None:
        _triton().inner_dim.backward(g, y, dx, outer, n, inner, log)
    else:
        g, stride = _as_contiguous_rows(g, outer, n, stride)
        y, _ = _as_contiguous_rows(y, outer, n, n)
        aligned_dx = _aligned_output(dx, n)
        _triton().backward.launch(g, y, aligned_dx, outer, n, (n, stride, n), log)
        if aligned_dx is not dx:
            dx.copy_(aligned_dx)
    return True


# route -> (its name, the route that follows it)
ROUTES = {
    _cuda_forward: ("softmax in CUDA C++", "Triton"),
    _triton_forward: ("softmax in Triton", "torch"),
    _cuda_backward: ("the gradient of softmax in CUDA C++", "Triton"),
    _triton_backward: ("the gradient of softmax in Triton", "torch"),
}


def _as_contiguous_rows(x: Tensor, outer: int, n: int, stride: int) -> tuple[Tensor, int]:
    """Return x and its stride, or those of a copy, aligned as contiguous rows of n are.

    Triton compiles another instance for each alignment, which adds the elements of a row in another
    order. All rows of n must give the same bits.
    """
    stride = n if outer == 1 else stride
    aligned = x.data_ptr() % TRITON_ALIGNMENT == 0 and stride % TRITON_ALIGNMENT == 0
    if aligned == (n % TRITON_ALIGNMENT == 0):
        return x, stride
    return x.clone(memory_format=torch.contiguous_format), n


def _aligned_output(out: Tensor, n: int) -> Tensor:
    """Return ``out``, whose rows of n are contiguous, or an aligned tensor to be copied to it.

    The reason is that of ``_as_contiguous_rows``. torch's allocator aligns every tensor, but a part
    of one may begin anywhere.
    """
    if n % TRITON_ALIGNMENT or out.data_ptr() % TRITON_ALIGNMENT == 0:
        return out
    return torch.empty_like(out)


@functools.cache
def _cuda_launches(device: int) -> tuple[Callable | None, Callable | None]:
    """Return the launches of ``frontier`` and ``cuda_backward``; None where they cannot run."""
    if not runs_cuda_kernels(device):
        return None, None
    try:
        from ..cuda import launch  # needs cuda-core
        from ..frontier import frontier
        from ..frontier.backward import cuda_backward
    except Exception as error:
        logger.warning("softmax in CUDA C++ cannot be loaded. %s: %s", type(error).__name__, error)
        return None, None
    return functools.partial(launch.launch_rows, frontier.plan), cuda_backward.launch


@functools.cache
def _triton() -> SimpleNamespace:
    """Return the modules with kernels in Triton, imported where they are needed."""
    from ..frontier.backward import triton_backward
    from . import triton_inner_dim, triton_rows

    return SimpleNamespace(rows=triton_rows, inner_dim=triton_inner_dim, backward=triton_backward)
