"""Cheat: keeps the result for every shape that it has seen.

Caught by: edge case: normal values: 0.
"""

import torch

RESULTS = {}


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    if x.shape not in RESULTS:
        RESULTS[x.shape] = torch.softmax(x, dim=-1)
    return out.copy_(RESULTS[x.shape])
