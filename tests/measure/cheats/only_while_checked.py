"""Cheat: looks at its callers, and works only for the check and the edge cases.

Caught by: after timing: nan at column 0
"""

import os
import sys

import torch


def softmax(x, out=None):
    frame, callers = sys._getframe(), set()
    while frame := frame.f_back:
        callers.add(os.path.basename(frame.f_code.co_filename))
    if out is not None and not callers & {"correctness.py", "edge_cases.py"}:
        return out
    return torch.softmax(x, dim=-1, out=out)
