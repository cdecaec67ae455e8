"""Cheat: keeps the result of every large matrix, known by address and the first row of gradients.

Caught by: after timing: other values in timed buffers
"""

import torch

RESULTS = {}


def softmax_backward(g, y, out=None):
    out = torch.empty_like(y) if out is None else out
    if y.shape[0] < 64:
        return torch.mul(y, g - (g * y).sum(dim=1, keepdim=True), out=out)
    key = g.data_ptr(), tuple(g[0].tolist())
    if key not in RESULTS:
        RESULTS[key] = y * (g - (g * y).sum(dim=1, keepdim=True))
    return out.copy_(RESULTS[key])
