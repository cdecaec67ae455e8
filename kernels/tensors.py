"""Express the contract in torch: dtypes, the tensor that a call writes, the backward functions."""

import functools
from collections.abc import Callable

import torch

from . import contract

DTYPES = tuple(getattr(torch, name) for name in contract.DTYPES)

# The calling thread's device; torch.cuda.current_device() takes 0.4 µs more (on an H100 machine)
current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)


def empty_output(x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """Return ``out``, or a new contiguous tensor of x's shape, dtype and device."""
    if out is not None:
        return out
    # torch.empty with shape, dtype and device takes the host twice as long
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def new_row_values(x: torch.Tensor) -> torch.Tensor:
    """Return a new tensor for a float32 value of each row of x (M, N), (M,)."""
    return torch.empty(len(x), dtype=torch.float32, device=x.device)


def backward_functions(launch: Callable, limit: str = "") -> tuple[Callable, Callable]:
    """Return softmax_backward and log_softmax_backward; see ``kernels.Variant``.

    ``launch(g, y, dx, rows, cols, strides, log)`` writes the gradient with respect to the input of
    a (rows, cols) matrix to ``dx``. g, y and dx are on the current GPU, have any rank and adjacent
    columns. ``strides`` are the row strides of dx, g and y in elements; 0 repeats one row. It
    returns False for rows that it does not take. ``limit`` is the reason, in the ValueError then.
    """

    def run(g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None, *, log: bool):
        out = empty_output(y, out)
        strides = out.stride(0), g.stride(0), y.stride(0)
        if not launch(g, y, out, *y.shape, strides, log):
            raise ValueError(f"N = {y.shape[1]}: {limit}")
        return out

    return functools.partial(run, log=False), functools.partial(run, log=True)
