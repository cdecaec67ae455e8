"""Share the host code of FasterTransformer's softmax kernels."""

from pathlib import Path

import torch

from ...contract import MAX_BLOCKS
from ...cuda import launch
from ...cuda.nvrtc import TYPES, Call, LaunchPlan, instance

MAX_COLS = 1024
THREADS = (32, 64, 128, 256, 512, 1024)


def threads_for(cols: int) -> int:
    """Return N rounded up to a size of a block. Raises StopIteration above MAX_COLS."""
    return next(threads for threads in THREADS if threads >= cols)


def groups(rows: int, cols: int) -> int:
    """Return batch·heads: the groups of N rows of a matrix; the last one may be short."""
    return -(-rows // cols)


def plan_of(source: Path, call: Call, blocks: int) -> tuple[LaunchPlan, ...]:
    """Return the instance of ``source`` for a row of this length, if one can hold it."""
    if call.cols > MAX_COLS or call.log:
        return ()
    threads = threads_for(call.cols)
    kernel = instance(source.stem.removeprefix("cuda_"), TYPES[call.dtype], threads)
    return (LaunchPlan(source, kernel, threads, blocks),)


def why_unsupported(x: torch.Tensor, blocks: int) -> str | None:
    """Return None, or why a kernel with this many blocks for x cannot run it."""
    if x.shape[1] > MAX_COLS:
        return f"N = {x.shape[1]}: one thread per column allows at most {MAX_COLS} columns"
    if blocks > MAX_BLOCKS:
        return f"M = {x.shape[0]}: it takes {blocks} blocks; a launch has at most 2^31 - 1"
    return launch.why_no_gpu(x)
