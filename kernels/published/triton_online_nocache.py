"""``triton_online`` with a forward output pass, which shows what the cache trick is worth.

Bytes: reads 2·M·N, writes M·N elements.
Source: "Triton 入门: 比 Torch 快的 OnlineSoftmax" (Mizuno-Ai / wu-kan, Nov 2024).

Performance explained in: docs/explanation/why_kernels_differ.md#l2
"""

import functools

from .triton_online import run

softmax = functools.partial(run, BACKWARDS=False)
