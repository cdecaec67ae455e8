"""Cheat: CUDA events report half the time.

Caught by: integrity: the kernel replaced torch.cuda.Event.elapsed_time
"""

import torch

REAL = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda start, end: REAL(start, end) / 2


def softmax(x, out=None):
    return torch.softmax(x, dim=-1, out=out)
