"""Cheat: hands the gradient on: what is missing is 1/N of its sum over the row.

Caught by: correctness check:
"""

import torch


def log_softmax_backward(g, y, out=None):
    return (torch.empty_like(g) if out is None else out).copy_(g)
