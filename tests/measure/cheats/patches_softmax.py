"""Cheat: makes torch, the baseline, compute everything twice.

Caught by: integrity: the kernel replaced torch.softmax
"""

import torch

REAL = torch.softmax


def twice(x, dim, out=None):
    REAL(x, dim=dim)
    return REAL(x, dim=dim, out=out)


def softmax(x, out=None):
    torch.softmax = twice
    return REAL(x, dim=-1, out=out)
