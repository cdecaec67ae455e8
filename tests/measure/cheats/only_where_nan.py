"""Cheat: writes only to an output that a checker has filled with NaN.

Caught by: edge case: padded rows: 2 at column
"""

import torch


def softmax(x, out=None):
    if out is not None and not out[0, 0].isnan():
        return out
    return torch.softmax(x, dim=-1, out=out)
