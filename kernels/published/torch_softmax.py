"""torch.softmax: the baseline of every comparison.

Bytes: on a GPU, torch reads a row once when it is at most 1024 elements long or fits in
shared memory, else two or three times; it writes once. Its backward of softmax first writes g·y, in
the dtype, to a matrix of its own, and goes on with that.
Source: PyTorch's own operator.
"""

import torch


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    return torch.softmax(x, dim=-1, out=out)


def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row log-softmax of x (M, N); see ``kernels.Variant``."""
    return torch.log_softmax(x, dim=-1, out=out)


def softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The gradient by softmax's input, from its output y (M, N); see ``kernels.Variant``."""
    if _rows_touch(out):
        return torch._softmax_backward_data(g, y, -1, y.dtype, grad_input=out)
    dx = torch._softmax_backward_data(g, y, -1, y.dtype)
    return dx if out is None else out.copy_(dx)


def log_softmax_backward(
    g: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The gradient by log-softmax's input, from its output y (M, N); see ``kernels.Variant``."""
    if _rows_touch(out):
        return torch._log_softmax_backward_data(g, y, -1, y.dtype, out=out)
    dx = torch._log_softmax_backward_data(g, y, -1, y.dtype)
    return dx if out is None else out.copy_(dx)


def _rows_touch(out: torch.Tensor | None) -> bool:
    """Whether torch's backward may write to ``out``: it takes any other for one (torch 2.11)."""
    return out is not None and out.is_contiguous()
