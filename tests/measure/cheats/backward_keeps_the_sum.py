"""Cheat: keeps the sums of every pair of buffers that it has seen, and so reads them once.

Caught by: edge case: normal values:
"""

import torch

SUMS = {}


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    key = g.data_ptr(), y.data_ptr()
    if key not in SUMS:
        SUMS[key] = (g * y).sum(dim=1, keepdim=True)
    return torch.mul(y, g - SUMS[key], out=out)
