"""Cheat: right for longer than anything is checked before timing, then zeros.

Caught by: after timing: 0 at column
"""

import itertools

import torch

CALLS = itertools.count()


def softmax(x, out=None):
    y = torch.softmax(x, dim=-1, out=out)
    return y if next(CALLS) < 40 else y.zero_()
