"""Cheat: drops the sum over the row, which is near 0 for random gradients of long rows.

Caught by: correctness check:
"""

import torch


def softmax_backward(g, y, out=None):
    return torch.mul(g, y, out=torch.empty_like(y) if out is None else out)
