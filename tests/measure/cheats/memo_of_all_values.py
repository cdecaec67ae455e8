"""Cheat: writes nothing where all of x is as it was and the first row of the output is right.

Caught by: after timing: other values in timed buffers: 2 at column
"""

import torch

SEEN = {}  # on the device, as is the decision: a graph records the same kernels for every call


def softmax(x, out=None):
    if out is None or len(x) < 64:
        return torch.softmax(x, dim=-1, out=out)
    seen = SEEN.setdefault(x.data_ptr(), torch.empty_like(x))
    known = (x == seen).all() & (out[0] == torch.softmax(x[0], dim=-1)).all()
    seen.copy_(x)
    return out.copy_(torch.where(known, out, torch.softmax(x, dim=-1)))
