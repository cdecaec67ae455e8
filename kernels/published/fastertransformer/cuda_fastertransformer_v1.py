"""A block per (batch, head) walks over its rows: FasterTransformer's softmax for large batches.

Idea: one thread per column, one element at a time, a block reduction for the maximum and one for
the sum of every row, 1e-6 added to the sum. The source sees its input as (batch·heads, seq, seq);
a matrix (M, N) is taken as groups of N rows, the last one short where N does not divide M. The
attention mask is left out and the scale is 1. A reduction costs one barrier here.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 1024, the threads of a block; M of at most (2^31 - 1)·N; compute capability 8.0.
Source: NVIDIA FasterTransformer 1.0, described by BBuf (2023), A100-PCIE-40GB.
"""

from pathlib import Path

import torch

from ...cuda import launch
from ...cuda.nvrtc import Call, LaunchPlan
from ._shared import groups, specs, why_unsupported

SOURCE = Path(__file__).with_suffix(".cu")


def plan(call: Call) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    return specs(SOURCE, call, groups(call.rows, call.cols))


def unsupported(x: torch.Tensor) -> str | None:
    """None, or why this kernel cannot run x."""
    return why_unsupported(x, groups(*x.shape))


softmax = launch.functions(plan).softmax
