"""Cheat: stores whole packs of 8, so that it may write into what lies between rows.

Caught by: edge case: padded rows: wrote beyond its rows
"""

import torch


def softmax(x, out=None):
    y = torch.softmax(x, dim=-1, out=out)
    rows, cols = y.shape
    padded = -(-cols // 8) * 8
    if padded > cols and y.stride(0) >= padded:
        y.as_strided((rows, padded), y.stride(), y.storage_offset())[:, cols:] = 0
    return y
