"""Cheat: takes every value as one of [0, 1), where the benchmark draws them.

Caught by: edge case: normal values: 0.
"""

import torch


def softmax(x, out=None):
    return torch.softmax(x.clamp(0, 1), dim=-1, out=out)
