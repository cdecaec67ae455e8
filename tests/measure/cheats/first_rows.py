"""Cheat: only the first half of the rows is computed.

Caught by: correctness check: nan at column 0
"""

import torch


def softmax(x, out=None):
    y = torch.full_like(x, torch.nan) if out is None else out
    half = x.shape[0] // 2
    y[:half] = torch.softmax(x[:half], dim=-1)
    return y
