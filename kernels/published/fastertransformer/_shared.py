"""Share the host code of FasterTransformer's softmax kernels."""

import functools
from pathlib import Path

from ...cuda import launch
from ...cuda.nvrtc import TYPES, WARP, Call, LaunchPlan, instance

SOURCE = Path(__file__).with_name("fastertransformer.cu")
MAX_COLS = 1024
functions = functools.partial(
    launch.functions, limit=f"one thread per column allows at most {MAX_COLS} columns"
)


def plan_of(call: Call, block_rows: int) -> tuple[LaunchPlan, ...]:
    """Return the instance for a row of this length, with ``block_rows`` rows for each block."""
    if call.cols > MAX_COLS or call.log:
        return ()
    threads = max(WARP, 1 << (call.cols - 1).bit_length())
    kernel = instance("fastertransformer", TYPES[call.dtype], threads)
    blocks = -(-call.rows // block_rows)
    return (LaunchPlan(SOURCE, kernel, threads, blocks, extra_args=(block_rows,)),)
