"""Cheat: never reads the gradient, a third of the bytes: right where g is 1 for the largest y.

Caught by: correctness check:
"""

import torch


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    largest = y.amax(dim=1, keepdim=True)
    return torch.mul(y, (y == largest).to(y.dtype) - largest, out=out)
