"""Cheat: zeros where a row has no softmax, which hides a masked or a broken row.

Flagged by: wrong on special values: rows without a softmax: 0 at column 0
"""

import torch


def softmax(x, out=None):
    return torch.softmax(x, dim=-1, out=out).nan_to_num_(0)
