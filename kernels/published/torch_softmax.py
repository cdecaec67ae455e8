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
    if _writable(out):
        return torch._softmax_backward_data(g, y, -1, y.dtype, grad_input=out)
    dx = torch._softmax_backward_data(g, y, -1, y.dtype)
    return dx if out is None else out.copy_(dx)


def log_softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the gradient with respect to x, from y = log_softmax(x); see ``kernels.Variant``."""
    if _writable(out):
        return torch._log_softmax_backward_data(g, y, -1, y.dtype, out=out)
    dx = torch._log_softmax_backward_data(g, y, -1, y.dtype)
    return dx if out is None else out.copy_(dx)


def _writable(out: torch.Tensor | None) -> bool:
    """Return whether torch's backward may write to ``out``: it assumes contiguity (torch 2.11)."""
    return out is not None and out.is_contiguous()
