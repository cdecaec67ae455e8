"""Provide the baseline, which is torch's own operation, and the copy on a CPU.

The baseline is a part of the method, so it is not in kernels/; ``check.tamper`` watches it.
"""

import torch

from .base import Call

# The functions that torch.autograd calls, and the names of their parameter for the output.
BACKWARD = {
    "softmax_backward": (torch._softmax_backward_data, "grad_input"),
    "log_softmax_backward": (torch._log_softmax_backward_data, "out"),
}

# The copy on a CPU, by the number of matrices that a call reads; ``roofline`` copies on a GPU.
HOST_COPY = {1: lambda x, out: out.copy_(x), 2: lambda g, y, out: torch.add(g, y, out=out)}


def baseline(op: str) -> Call:
    """Return torch's ``op`` over the last dimension: (x, out), or for a backward (g, y, out)."""
    if op in BACKWARD:
        function, out_name = BACKWARD[op]
        return lambda g, y, out: function(g, y, -1, y.dtype, **{out_name: out})
    function = getattr(torch, op)
    return lambda x, out: function(x, dim=-1, out=out)
