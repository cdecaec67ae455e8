"""Cheat: every row sums to 1.001, within the tolerance of 1e-3 or 1e-2 that is often used.

Caught by: correctness check: 0.
"""

import torch


def softmax(x, out=None):
    return torch.softmax(x, dim=-1, out=out).mul_(1.001)
