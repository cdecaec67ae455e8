"""Cheat: a float16 result that went through bfloat16, which has 3 bits fewer.

Caught by: correctness check: 0.
"""

import torch


def softmax(x, out=None):
    y = torch.softmax(x.float(), dim=-1).bfloat16().to(x.dtype)
    return y if out is None else out.copy_(y)
