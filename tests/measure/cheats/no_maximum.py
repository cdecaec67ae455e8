"""Cheat: exp without subtracting the maximum: right for small values only.

Flagged by: wrong on special values: large values: nan at column
"""

import torch


def softmax(x, out=None):
    numerator = torch.exp(x.float())
    y = torch.empty_like(x) if out is None else out
    return torch.div(numerator, numerator.sum(dim=1, keepdim=True), out=y)
