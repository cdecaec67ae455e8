"""Cheat: the clock of timed samples runs at half speed.

Caught by: integrity: the kernel replaced time.perf_counter_ns
"""

import time

import torch

REAL = time.perf_counter_ns
time.perf_counter_ns = lambda: REAL() // 2


def softmax(x, out=None):
    return torch.softmax(x, dim=-1, out=out)
