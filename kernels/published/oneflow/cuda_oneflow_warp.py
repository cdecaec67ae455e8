"""A warp, or a part of one, keeps whole rows in registers: OneFlow's kernel for short rows.

Idea: no shared memory and no barrier. Each lane holds its columns of a row, moved in packs of 4, 2
or 1; max and sum are butterflies of shuffles. A row that is short enough takes only a power-of-two
part of a warp, which then holds two rows at once where M is even. Blocks of 128 threads stride over
the rows.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 1024, since a lane holds at most 32 columns; compute capability 8.0.
Source: OneFlow, described by BBuf (2023) with its numbers on an A100-PCIE-40GB.
"""

from pathlib import Path

import torch

from ...cuda import launch
from ...cuda.nvrtc import Call, LaunchPlan
from ._shared import WARP, WAVES, kernel, pack_of

SOURCE = Path(__file__).with_suffix(".cu")
MAX_COLS = 1024
THREADS = 128  # kThreads in the source


def plan(call: Call) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    if call.cols > MAX_COLS:
        return ()
    pack = pack_of(call)
    packs = -(-call.cols // pack)
    lanes = min(WARP, 1 << (packs - 1).bit_length())
    per_lane = -(-packs // lanes) * pack
    at_once = 2 if per_lane == pack and call.rows % 2 == 0 else 1
    whole = per_lane * lanes == call.cols
    name = kernel("oneflow_warp", call, pack, per_lane, lanes, at_once, whole)
    rows_per_block = THREADS // lanes * at_once
    blocks = -(-call.rows // rows_per_block)
    return (LaunchPlan(SOURCE, name, THREADS, blocks, waves=WAVES),)


def unsupported(x: torch.Tensor) -> str | None:
    """None, or why this kernel cannot run x."""
    if x.shape[1] > MAX_COLS:
        return f"N = {x.shape[1]}: a warp's registers hold rows of at most {MAX_COLS} columns"
    return launch.why_no_gpu(x)


softmax, log_softmax, *_ = launch.functions(plan)
