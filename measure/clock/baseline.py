"""The baseline: torch's own operation. Here and not in kernels/, as part of how one measures."""

import torch

from .base import Call

# What torch.autograd calls, and what its parameter for the output is named.
BACKWARD = {
    "softmax_backward": (torch._softmax_backward_data, "grad_input"),
    "log_softmax_backward": (torch._log_softmax_backward_data, "out"),
}


def control(op: str) -> Call:
    """torch's ``op`` over the last dimension, as a call (x, out), or of a backward (g, y, out)."""
    if op in BACKWARD:
        function, out_name = BACKWARD[op]

        def torch_backward(g: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
            return function(g, y, -1, y.dtype, **{out_name: out})

        return torch_backward
    function = getattr(torch, op)

    def torch_call(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return function(x, dim=-1, out=out)

    return torch_call
