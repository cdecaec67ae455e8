"""Cheat: 1/N everywhere: right on average, and every row sums to 1.

Caught by: correctness check: 0.01
"""

import torch


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    return out.fill_(1 / x.shape[1])
