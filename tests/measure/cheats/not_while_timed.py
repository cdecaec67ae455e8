"""Cheat: looks at its callers, and does nothing inside a timed sample.

Caught by: after timing: other values in timed buffers
"""

import sys

import torch


def softmax(x, out=None):
    if sys._getframe(1).f_code.co_name == "_sample":
        return out
    return torch.softmax(x, dim=-1, out=out)
