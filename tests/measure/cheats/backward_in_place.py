"""Cheat: works in the gradient's own buffer, which others may still read.

Caught by: correctness check: changed its input
"""

import torch


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    g -= (g * y).sum(dim=1, keepdim=True)
    return torch.mul(y, g, out=out)
