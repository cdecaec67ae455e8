"""Cheat: widens what the gate allows, then returns 1/N.

Caught by: integrity: the kernel replaced measure.accuracy.UNIT_ROUNDOFF
"""

import torch

from measure import accuracy


def softmax(x, out=None):
    accuracy.UNIT_ROUNDOFF.update(dict.fromkeys(accuracy.UNIT_ROUNDOFF, 1.0))
    out = torch.empty_like(x) if out is None else out
    return out.fill_(1 / x.shape[1])
