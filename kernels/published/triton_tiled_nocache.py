"""``triton_tiled`` with forward passes alone, which shows what the cache trick is worth.

Bytes: reads 3·M·N, writes M·N elements; each pass begins with the tiles that left the cache first.
Source: "Triton 入门: 比 Torch 快的 OnlineSoftmax" (Mizuno-Ai / wu-kan, Nov 2024).

Performance explained in: docs/explanation/why_kernels_differ.md#l2
"""

import functools

from .triton_tiled import run

softmax = functools.partial(run, BACKWARDS=False)
