"""Cheat: gradients beyond ±100 are taken as 100, for arithmetic in fewer bits.

Caught by: edge case: large values:
"""

import torch


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    g = g.clamp(-100, 100)
    return torch.mul(y, g - (g * y).sum(dim=1, keepdim=True), out=out)
