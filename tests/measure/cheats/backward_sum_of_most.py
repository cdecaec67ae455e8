"""Cheat: the sum of a row leaves out its last columns, as a loop over whole tiles would.

Caught by: correctness check:
"""

import torch


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    most = slice(0, max(1, y.shape[1] // 32 * 32 - 32))
    return torch.mul(y, g - (g * y)[:, most].sum(dim=1, keepdim=True), out=out)
