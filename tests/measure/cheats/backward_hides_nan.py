"""Cheat: zeros where a row has no gradient, which hides that a training step has failed.

Flagged by: wrong on special values: rows without a gradient: 0 at column 0
"""

import torch


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    dx = y * (g - (g * y).sum(dim=1, keepdim=True))
    return torch.nan_to_num(dx, nan=0.0, out=out)
