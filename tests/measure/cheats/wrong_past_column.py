"""Cheat: columns from 2^15 on are left out, as by a kernel for rows up to there.

Caught by: correctness check: 0 at column 327
"""

import torch

LIMIT = 2**15


def softmax(x, out=None):
    y = torch.empty_like(x) if out is None else out
    torch.softmax(x[:, :LIMIT], dim=-1, out=y[:, :LIMIT])
    y[:, LIMIT:] = 0
    return y
