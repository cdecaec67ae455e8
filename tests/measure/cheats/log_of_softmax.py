"""Cheat: the logarithm of a softmax, which is -inf for what is only small.

Caught by: edge case: large values: -inf at column
"""

import torch


def softmax(x, out=None):
    return torch.softmax(x, dim=-1, out=out)


def log_softmax(x, out=None):
    return torch.log(torch.softmax(x, dim=-1), out=out)
