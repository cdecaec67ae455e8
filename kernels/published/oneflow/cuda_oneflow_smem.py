"""A block keeps its row in shared memory: OneFlow's kernel for rows of medium length.

Idea: the row is read once, in packs of 4, 2 or 1, into shared memory as float32. Packs are stored
element by element, so that a warp never hits a bank twice. Then come a block reduction for the
maximum, exp in place, a block reduction for the sum, and the output. Blocks have 128, 256, 512 or
1024 threads: the most that cost no resident block. Blocks stride over the rows.
Bytes: 2·M·N·itemsize, the least possible.
Limits: a float32 row must fit in a block's shared memory (N up to about 58,000 on an H100 or H200,
41,700 on an A100); compute capability 8.0.
Source: OneFlow, described by BBuf (2023) with its numbers on an A100-PCIE-40GB.
"""

from pathlib import Path

import torch

from ...cuda import launch
from ...cuda.nvrtc import EPILOGUES, WARP, Call, LaunchPlan, instance_of
from .cuda_oneflow_warp import WAVES, pack_of

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = (128, 256, 512, 1024)


def bytes_needed(cols: int, threads: int) -> tuple[int, int]:
    """Return a block's dynamic shared memory (the row) and static (max and sum of each warp)."""
    return 4 * cols, 2 * 4 * (threads // WARP)


def plan(call: Call) -> tuple[LaunchPlan, ...]:
    """Return an instance for every size of block that can hold the row; see ``nvrtc.Planner``."""
    return tuple(
        LaunchPlan(
            SOURCE,
            instance_of("oneflow_smem", call, EPILOGUES, pack_of(call), threads),
            threads,
            call.rows,
            shared_bytes=bytes_needed(call.cols, threads)[0],
            waves=WAVES,
        )
        for threads in THREADS
        if sum(bytes_needed(call.cols, threads)) <= call.gpu.max_shared_per_block
    )


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why this kernel cannot run x."""
    if problem := launch.why_no_gpu(x):
        return problem
    need, have = (
        sum(bytes_needed(x.shape[1], THREADS[0])),
        launch.gpu_info(x.device).max_shared_per_block,
    )
    if need > have:
        return f"N = {x.shape[1]}: a row needs {need} bytes of shared memory; a block has {have}"
    return None


softmax, log_softmax, *_ = launch.functions(plan)
