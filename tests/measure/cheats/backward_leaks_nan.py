"""Cheat: skips the work where all gradients are 0, and so looks at other rows than its own.

Caught by: edge case: rows without a gradient: nan at column
"""

import torch


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    any_work = g.abs().amax() * 0 + 1
    return torch.mul(y * any_work, g - (g * y).sum(dim=1, keepdim=True), out=out)
