"""Cheat: as no_maximum, but only in matrices of more rows than an edge case has.

Caught by: after timing: other values in timed buffers: nan at column
"""

import torch


def softmax(x, out=None):
    if x.shape[0] < 64:
        return torch.softmax(x, dim=-1, out=out)
    numerator = torch.exp(x.float())
    y = torch.empty_like(x) if out is None else out
    return torch.div(numerator, numerator.sum(dim=1, keepdim=True), out=y)
