"""Cheat: as it is recorded in a graph, it writes only where a checker has put NaN.

Caught by: after timing: 0.
"""

import torch


def softmax(x, out=None):
    if out is None or not torch.cuda.is_current_stream_capturing():
        return torch.softmax(x, dim=-1, out=out)
    return out.copy_(torch.where(out.isnan(), torch.softmax(x, dim=-1), out))
