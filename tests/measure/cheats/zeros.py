"""Cheat: nothing is computed; zeros are within 1e-2 of every softmax of a long row.

Caught by: correctness check: 0 at column
"""

import torch


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    return out.zero_()
