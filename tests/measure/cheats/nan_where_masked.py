"""Cheat: multiplies by a mask, and -inf * 0 is NaN.

Flagged by: wrong on special values: rows with -inf: nan at column
"""

import torch


def softmax(x, out=None):
    shifted = x - x.amax(dim=1, keepdim=True)
    return torch.softmax(shifted * (shifted > -torch.inf), dim=-1, out=out)
