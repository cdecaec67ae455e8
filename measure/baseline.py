"""The baseline: torch's own operation. Here and not in kernels/, as part of how one measures."""

import torch

from .clock import Call


def control(op: str) -> Call:
    """torch.softmax or torch.log_softmax over the last dimension, as a call (x, out)."""
    function = getattr(torch, op)

    def torch_call(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return function(x, dim=-1, out=out)

    return torch_call
