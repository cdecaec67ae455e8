"""torch.softmax: the baseline of every comparison.

Bytes: on a GPU, torch reads a row once when it is at most 1024 elements long or fits in
shared memory, else two or three times; it writes once.
Source: PyTorch's own operator.
"""

import torch


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    return torch.softmax(x, dim=-1, out=out)


def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row log-softmax of x (M, N); see ``kernels.Variant``."""
    return torch.log_softmax(x, dim=-1, out=out)
