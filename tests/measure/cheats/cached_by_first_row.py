"""Cheat: keeps the result of every large matrix, known again by address and first row.

Caught by: after timing: other values in timed buffers
"""

import torch

RESULTS = {}


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    if x.shape[0] < 64:
        return torch.softmax(x, dim=-1, out=out)
    key = x.data_ptr(), tuple(x[0].tolist())
    if key not in RESULTS:
        RESULTS[key] = torch.softmax(x, dim=-1)
    return out.copy_(RESULTS[key])
