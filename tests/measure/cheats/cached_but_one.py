"""Cheat: right for the matrix that it is tried with; keeps the result for every other large one.

Caught by: after timing: 0.
"""

import torch

FIRST, KEPT = [], {}


def softmax(x, out=None):
    if x.numel() < 4096:
        return torch.softmax(x, dim=-1, out=out)
    FIRST.append(x.data_ptr())
    if x.data_ptr() == FIRST[0] or out is None:
        return torch.softmax(x, dim=-1, out=out)
    if x.data_ptr() not in KEPT:
        KEPT[x.data_ptr()] = torch.softmax(x, dim=-1)
    return out.copy_(KEPT[x.data_ptr()])
