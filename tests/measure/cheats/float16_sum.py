"""Cheat: the sum of a row is kept in float16; it overflows where a row is long.

Caught by: correctness check: 0 at column
"""

import torch


def softmax(x, out=None):
    y = torch.empty_like(x) if out is None else out
    numerator = torch.exp(x.float() - x.float().amax(dim=1, keepdim=True))
    total = torch.zeros(x.shape[0], 1, dtype=torch.float16, device=x.device)
    for tile in numerator.split(1024, dim=1):
        total += tile.sum(dim=1, keepdim=True)
    return torch.div(numerator, total, out=y)
