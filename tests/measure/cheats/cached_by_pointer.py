"""Cheat: keeps the result for every address that it has seen.

Caught by: edge case: normal values: 0.
"""

import torch

RESULTS = {}


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    key = x.data_ptr(), x._version
    if key not in RESULTS:
        RESULTS[key] = torch.softmax(x, dim=-1)
    return out.copy_(RESULTS[key])
