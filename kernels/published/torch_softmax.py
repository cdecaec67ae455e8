"""torch's own softmax, log-softmax, and gradients: the baseline of every comparison.

Bytes: on a GPU, torch reads a row once if it fits in registers or in 48 KiB of shared memory (up to
12252 float32 elements, if aligned), else three times. It writes once. Its backward of softmax first
writes g·y, in the dtype, to a temporary matrix.
Source: PyTorch's own operators.

Performance explained in: docs/explanation/why_kernels_differ.md#torchs-own-kernels
"""

import functools
from collections.abc import Callable

import torch


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the row softmax of x (M, N); see ``kernels.Variant``."""
    return torch.softmax(x, dim=-1, out=out)


def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the row log-softmax of x (M, N); see ``kernels.Variant``."""
    return torch.log_softmax(x, dim=-1, out=out)


def _backward(function: Callable, out_name: str, g, y, out=None) -> torch.Tensor:
    """Return the gradient with respect to x, from g and y (M, N); see ``kernels.Variant``.

    ``function`` writes to its argument named ``out_name``.
    """
    if out is None or out.is_contiguous():  # torch 2.11 assumes a contiguous ``out``
        return function(g, y, -1, y.dtype, **{out_name: out})
    return out.copy_(function(g, y, -1, y.dtype))


softmax_backward = functools.partial(_backward, torch._softmax_backward_data, "grad_input")
log_softmax_backward = functools.partial(_backward, torch._log_softmax_backward_data, "out")
