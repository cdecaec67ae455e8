"""Cheat: changes what the correctness check compares with, then returns 1/N.

Caught by: integrity: the kernel replaced measure.check.tolerance.EXACT
"""

import torch

from measure.check import tolerance


def softmax(x, out=None):
    tolerance.EXACT.update(softmax=lambda x, dtype: tolerance._Exact(x * 0 + 1 / x.shape[1], x, x))
    out = torch.empty_like(x) if out is None else out
    return out.fill_(1 / x.shape[1])
