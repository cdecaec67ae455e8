"""Express the contract in torch: dtypes, output tensors, and the functions of a backward."""

import functools
from collections.abc import Callable

import torch

from . import contract

DTYPES = tuple(getattr(torch, name) for name in contract.DTYPES)

# Current device of the calling thread; torch.cuda.current_device() takes 0.4 µs more (H100 host).
current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)


def empty_output(x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """Return ``out``, or a new contiguous tensor of x's shape, dtype and device."""
    if out is not None:
        return out
    # torch.empty() with shape, dtype and device would take twice the host time
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def new_row_values(x: torch.Tensor) -> torch.Tensor:
    """Return a new float32 tensor (M,), for one value per row of x (M, N)."""
    return torch.empty(len(x), dtype=torch.float32, device=x.device)


def backward_functions(launch: Callable, limit: str = "") -> tuple[Callable, Callable]:
    """Return softmax_backward and log_softmax_backward, as ``kernels.Variant`` describes them.

    ``launch(g, y, dx, rows, cols, strides, log)`` writes the gradient with respect to the input of
    a (rows, cols) matrix to ``dx``. g, y and dx are on the current GPU and may have any rank; their
    columns are adjacent. ``strides`` are the row strides of dx, g and y in elements; 0 repeats one
    row. If ``launch`` returns False, the functions raise ValueError with the reason ``limit``.
    """

    def run(g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None, *, log: bool):
        out = empty_output(y, out)
        strides = out.stride(0), g.stride(0), y.stride(0)
        if not launch(g, y, out, *y.shape, strides, log):
            raise ValueError(f"N = {y.shape[1]}: {limit}")
        return out

    return functools.partial(run, log=False), functools.partial(run, log=True)
