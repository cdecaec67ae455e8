"""Define the routes of softmax, log-softmax and their gradients: CUDA C++ first, then Triton.

Forward: ``frontier`` takes all rows if the GPU can run it, else ``frontier_triton``. A 16-bit row
with a float32 output gives the same bits as if it had been cast to float32 first. Columns are for
``triton_inner_dim``.
Backward: ``cuda_backward`` takes rows longer than MIN_BYTES if the GPU can run it and g has y's
dtype, as it has under autocast, too. ``triton_backward`` takes all other rows, and
``triton_inner_dim`` all columns. ``data/recorded/h200/softmax_backward.csv`` compares the two over
the length of a row on an H200.

The choice depends on n, the dimension and the dtypes, and never on outer, inner or an address. So a
row or a column gives the same bits in any batch and anywhere in memory.
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor

from ..contract import VEC_BYTES
from .eligible import runs_cuda_kernels
from .library_function import Call, Repeater, Route, logger

# Largest row in bytes for Triton's backward, by whether a row is a whole number of vectors. If it
# is, CUDA C++ takes up to 0.4 µs longer on an H100 (at 1024x1024 in bfloat16; large matrices are
# within 1 %), but 34 µs less of host time per launch. If it is not, Triton loads element by
# element. On an H100 it is then 6 % faster at 514 bytes in 16 bits, and 1 to 2 % slower from 1020
# bytes on, or from 508 bytes in 32 bits.
MIN_BYTES = {True: 2**11 - 1, False: 768}
# Triton compiles a separate instance for addresses and strides that are multiples of this.
TRITON_ALIGNMENT = 16


def forward(log: bool) -> tuple[Route, ...]:
    """Return the routes of softmax or, with ``log``, log-softmax."""
    return (
        Route("CUDA C++", functools.partial(cuda_forward, log)),
        Route("Triton", functools.partial(triton_forward, log)),
    )


def backward(log: bool) -> tuple[Route, ...]:
    """Return the routes of the gradient of softmax or log-softmax, whose inputs are g and y."""
    return (
        Route("CUDA C++", functools.partial(cuda_backward, log)),
        Route("Triton", functools.partial(triton_backward, log)),
    )


def cuda_forward(log: bool, call: Call) -> Repeater | None:
    """Launch ``frontier``."""
    out, (x,), outer, n, _, stride = call
    kernels = cuda_kernels(call.device)
    if stride is None or not kernels:
        return None
    launch = kernels.forward(x, out, outer, n, stride, n, log)

    def repeater(allocate: Callable, again: Callable) -> Callable:
        bound = launch.bind(n, outer, n)

        def repeat(x: Tensor) -> Tensor:
            """Repeat the launch in a third of its host time: nothing is left to decide."""
            out = allocate()
            try:
                bound(out.data_ptr(), x.data_ptr(), n)
            except Exception:
                return again(x)
            return out

        return repeat

    return repeater


def cuda_backward(log: bool, call: Call) -> Repeater | None:
    """Launch ``cuda_backward``."""
    dx, (g, y), outer, n, _, stride = call
    row_bytes = n * y.element_size()
    if stride is None or row_bytes <= MIN_BYTES[row_bytes % VEC_BYTES == 0]:
        return None
    if g.dtype is not y.dtype or (dx.dtype is not y.dtype and y.dtype is not torch.float32):
        return None
    kernels = cuda_kernels(call.device)
    launch = kernels and kernels.backward(g, y, dx, outer, n, (n, stride, n), log)
    if not launch:
        return None

    def repeater(allocate: Callable, again: Callable) -> Callable:
        bound = launch.bind(n, n, n, outer, n)

        def repeat(g: Tensor, y: Tensor) -> Tensor:
            dx = allocate()
            try:
                bound(dx.data_ptr(), g.data_ptr(), y.data_ptr())
            except Exception:
                return again(g, y)
            return dx

        return repeat

    return repeater


def triton_forward(log: bool, call: Call) -> Repeater:
    """Launch ``frontier_triton`` or ``triton_inner_dim``."""
    out, (x,), outer, n, inner, stride = call
    if stride is None:
        columns = triton_kernels().inner_dim.forward
        launch = functools.partial(columns, sizes=(outer, n, inner), log=log)
        launch(out, x)
        return _repeater(launch)
    x, stride = _as_contiguous_rows(x, outer, n, stride)
    y = _aligned_output(out, n)
    launch = functools.partial(triton_kernels().rows.launch, rows=outer, cols=n, log=log)
    launch(y, x, strides=(n, stride))
    if y is not out:
        out.copy_(y)
    return _repeater(functools.partial(launch, strides=(n, n)))


def triton_backward(log: bool, call: Call) -> Repeater:
    """Launch ``triton_backward`` or ``triton_inner_dim``."""
    dx, (g, y), outer, n, inner, stride = call
    if stride is None:
        columns = triton_kernels().inner_dim.backward
        launch = functools.partial(columns, sizes=(outer, n, inner), log=log)
        launch(dx, g, y)
        return _repeater(launch)
    g, stride = _as_contiguous_rows(g, outer, n, stride)
    y, _ = _as_contiguous_rows(y, outer, n, n)
    aligned_dx = _aligned_output(dx, n)
    rows = triton_kernels().backward.launch
    rows(g, y, aligned_dx, outer, n, (n, stride, n), log)
    if aligned_dx is not dx:
        dx.copy_(aligned_dx)
    return _repeater(lambda dx, g, y: rows(g, y, dx, outer, n, (n, n, n), log))


def _repeater(launch: Callable[..., object]) -> Repeater:
    """Return a Repeater of ``launch(out, *inputs)``."""

    def repeater(allocate: Callable, again: Callable) -> Callable:
        def repeat(*inputs: Tensor) -> Tensor:
            out = allocate()
            try:
                launch(out, *inputs)
            except Exception:
                return again(*inputs)
            return out

        return repeat

    return repeater


def _as_contiguous_rows(x: Tensor, outer: int, n: int, stride: int) -> tuple[Tensor, int]:
    """Return x and its row stride, or a copy and its, aligned like contiguous rows of length n.

    Triton compiles a separate instance for each alignment, and it may add the elements of a row in
    another order. But all rows of the same length must give the same bits.
    """
    stride = n if outer == 1 else stride
    aligned = x.data_ptr() % TRITON_ALIGNMENT == 0 and stride % TRITON_ALIGNMENT == 0
    if aligned == (n % TRITON_ALIGNMENT == 0):
        return x, stride
    return x.clone(memory_format=torch.contiguous_format), n


def _aligned_output(out: Tensor, n: int) -> Tensor:
    """Return ``out``, which is contiguous, or an aligned tensor to be copied to it afterwards.

    The reason is that of ``_as_contiguous_rows``. New tensors are aligned, but a view may not be.
    """
    if n % TRITON_ALIGNMENT or out.data_ptr() % TRITON_ALIGNMENT == 0:
        return out
    return torch.empty_like(out)


@functools.cache
def cuda_kernels(device: int) -> SimpleNamespace | None:
    """Return the launches of ``frontier`` and ``cuda_backward``; None if they cannot run here."""
    if not runs_cuda_kernels(device):
        return None
    try:
        from ..cuda import launch  # needs cuda-core
        from ..frontier import frontier
        from ..frontier.backward import cuda_backward
    except Exception as error:
        logger.warning("softmax in CUDA C++ cannot be loaded. %s: %s", type(error).__name__, error)
        return None
    forward = functools.partial(launch.launch_rows, frontier.plan)
    return SimpleNamespace(forward=forward, backward=cuda_backward.launch)


@functools.cache
def triton_kernels() -> SimpleNamespace:
    """Return the modules with kernels in Triton, which are imported only when needed."""
    from ..frontier import frontier_triton
    from ..frontier.backward import triton_backward
    from . import triton_inner_dim

    modules = {"rows": frontier_triton, "inner_dim": triton_inner_dim, "backward": triton_backward}
    return SimpleNamespace(**modules)
