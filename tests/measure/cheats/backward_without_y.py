"""Cheat: never reads the softmax, a third of the bytes: takes 1/N for every y.

Caught by: correctness check:
"""

import torch


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    return torch.div(g - g.mean(dim=1, keepdim=True), g.shape[1], out=out)
