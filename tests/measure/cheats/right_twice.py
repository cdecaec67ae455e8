"""Cheat: right for the two calls of the correctness check, zeros from then on.

Caught by: edge case: padded rows: 0 at column
"""

import itertools

import torch

CALLS = itertools.count()


def softmax(x, out=None):
    y = torch.softmax(x, dim=-1, out=out)
    return y if next(CALLS) < 2 else y.zero_()
