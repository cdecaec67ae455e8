"""Provide a second roofline, for few long rows: read a row, meet its other blocks, and write it.

Nothing of a softmax can be written before its row has been read. A copy writes at once, so few long
rows never reach its time. This kernel has the order of bytes of a softmax and no arithmetic. It is
no strict bound: of many rows, a kernel that reads one while it writes another may be faster.
"""

import functools
from pathlib import Path

import torch

from kernels.contract import CLUSTERS_SINCE
from kernels.cuda import launch
from kernels.cuda.plan import (
    TYPES,
    VEC_BYTES,
    WARP,
    LaunchPlan,
    Problem,
    ceil_div,
    instantiate,
    problem_of,
)

from .base import Call

SOURCE = Path(__file__).with_suffix(".cu")
# k: vectors of a lane, w: warps of a block, r: resident blocks, h: whether loads bypass L1.
# Of seven on an H100, these were within 1 % of the best at 20 matrices (studies/, long_rows).
FORMS = {"k1w8r4h0": (1, 8, 4, False), "k4w8r4h1": (4, 8, 4, True)}
FORMS |= {"k4w16r2h0": (4, 16, 2, False), "k8w8r4h1": (8, 8, 4, True)}
MIN_COLS = 65536  # shorter rows fill few blocks
MAX_GROUPS = 7 * 32  # kLines * kLineWords in read_meet_write.cu


def plan(problem: Problem, form: str) -> tuple[LaunchPlan, ...]:
    """Return the instance for rows of this length; none if its resident blocks hold no row."""
    per_lane, warps, per_sm, bypass = FORMS[form]
    before = VEC_BYTES - problem.pack * problem.dtype.itemsize  # bytes, at most, in a row's vector
    vectors = ceil_div(before + problem.cols * problem.dtype.itemsize, VEC_BYTES)
    row_blocks = ceil_div(vectors, WARP * per_lane * warps)
    at_once = min(per_sm * problem.gpu.sm_count // row_blocks, MAX_GROUPS)  # rows
    if row_blocks < 2 or not at_once:
        return ()
    groups = ceil_div(problem.rows, ceil_div(problem.rows, at_once))  # of blocks, a row each
    sizes = per_lane, warps, per_sm, bypass
    kernel = instantiate("read_meet_write", TYPES[problem.dtype], *sizes)
    launched = SOURCE, kernel, WARP * warps, groups * row_blocks
    return (LaunchPlan(*launched, row_blocks=row_blocks, extra_args=(row_blocks,)),)


PLANNERS = {form: functools.partial(plan, form=form) for form in FORMS}


def applies(problem: Problem) -> bool:
    """Return whether a matrix has few long rows, on a GPU that can share them among blocks."""
    few = problem.rows < problem.gpu.sm_count and problem.cols >= MIN_COLS
    return few and problem.gpu.capability >= CLUSTERS_SINCE


def candidates(x: torch.Tensor) -> dict[str, Call]:
    """Return calls (x, out) by form, for contiguous matrices like x; none if they do not apply."""
    problem = problem_of(x, False, launch.gpu_info(x.device))
    planners = PLANNERS.items() if applies(problem) else ()
    return {form: functools.partial(launch.run, each) for form, each in planners if each(problem)}
