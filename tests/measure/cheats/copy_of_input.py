"""Cheat: a copy, which is as fast as memory allows.

Caught by: correctness check: 0.
"""

import torch


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    return out.copy_(x)
