"""Cheat: gives torch, the baseline, more threads than there are cores.

Caught by: integrity: the kernel changed torch.get_num_threads from
"""

import torch

torch.set_num_threads(torch.get_num_threads() + 7)


def softmax(x, out=None):
    return torch.softmax(x, dim=-1, out=out)
