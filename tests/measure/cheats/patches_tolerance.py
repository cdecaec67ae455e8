"""Cheat: widens what the correctness check allows, then returns 1/N.

Caught by: integrity: the kernel replaced measure.check.tolerance.UNIT_ROUNDOFF
"""

import torch

from measure.check import tolerance


def softmax(x, out=None):
    tolerance.UNIT_ROUNDOFF.update(dict.fromkeys(tolerance.UNIT_ROUNDOFF, 1.0))
    out = torch.empty_like(x) if out is None else out
    return out.fill_(1 / x.shape[1])
