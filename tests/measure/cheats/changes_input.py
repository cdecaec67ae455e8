"""Cheat: works in place: no second buffer is needed, and the input is gone.

Caught by: correctness check: changed its input
"""

import torch


def softmax(x, out=None):
    y = torch.softmax(x, dim=-1, out=x)
    return y.clone() if out is None else out.copy_(y)
