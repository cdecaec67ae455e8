"""Cheat: computes the first row; where that is in the output already, leaves it at that.

Caught by: after timing: other values in timed buffers
"""

import torch


def softmax(x, out=None):
    if out is not None and torch.equal(torch.softmax(x[0], dim=-1), out[0]):
        return out
    return torch.softmax(x, dim=-1, out=out)
