"""torch.softmax: the baseline of every comparison.

Bytes: on a GPU, torch reads a row once if it has at most 1024 elements or fits in shared memory,
else two or three times. It writes once. Its backward of softmax first writes g·y, in the dtype, to
a temporary matrix.
Source: PyTorch's own operator.
"""

import torch


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the row softmax of x (M, N); see ``kernels.Variant``."""
    return torch.softmax(x, dim=-1, out=out)


def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the row log-softmax of x (M, N); see ``kernels.Variant``."""
    return torch.log_softmax(x, dim=-1, out=out)


def softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the gradient with respect to x, from y = softmax(x); see ``kernels.Variant``."""
    return _backward(torch._softmax_backward_data, "grad_input", g, y, out)


def log_softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the gradient with respect to x, from y = log_softmax(x); see ``kernels.Variant``."""
    return _backward(torch._log_softmax_backward_data, "out", g, y, out)


def _backward(function, result: str, g, y, out) -> torch.Tensor:
    """Return ``function(g, y)``, which writes to its argument ``result``."""
    if out is None or out.is_contiguous():  # torch 2.11 assumes that it is
        return function(g, y, -1, y.dtype, **{result: out})
    return out.copy_(function(g, y, -1, y.dtype))
