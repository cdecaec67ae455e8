"""Cheat: takes the maximum over 64 columns at a time, beyond the end of the row too.

Caught by: edge case: padded rows: nan at column 0
"""

import torch


def softmax(x, out=None):
    rows, cols = x.shape
    padded = -(-cols // 64) * 64
    row_max = x.amax(dim=1, keepdim=True)
    # every row but the last: behind that there may be no memory
    row_max[:-1] = x.as_strided((rows - 1, padded), x.stride()).amax(dim=1, keepdim=True)
    numerator = torch.exp(x - row_max)
    y = torch.empty_like(x) if out is None else out
    return torch.div(numerator, numerator.sum(dim=1, keepdim=True), out=y)
