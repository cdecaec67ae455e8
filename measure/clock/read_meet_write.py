"""Provide a second roofline, for few long rows: read a row, wait for its other blocks, and write.

Nothing of a softmax can be written before its whole row has been read, while a copy writes at once,
so few long rows never reach the time of a copy. This kernel reads and writes in the order of a
softmax, without arithmetic; or it writes one word per row, like an operation with a value per row.
It is no strict bound: another way to meet, or reading a row while writing another, may be faster.
"""

import functools
from pathlib import Path

from kernels.contract import CLUSTER_CAPABILITY, VEC_BYTES, WARP
from kernels.cuda import launch
from kernels.cuda.plan import TYPES, LaunchPlan, Problem, ceil_div, instantiate, problem_of
from operations import MEETING_ROOFLINES, Operation

from .base import Call, CallBuffers
from .controls import on_buffers

SOURCE = Path(__file__).with_suffix(".cu")
# k: vectors per lane, w: warps per block, r: resident blocks per multiprocessor, h: BYPASS. On an
# H100, one of the first four was within 1 % of the best of seven at each matrix of studies'
# long_rows. The last one stores as ``frontier_spread`` does for large outputs.
FORMS = {"k1w8r4h0": (1, 8, 4, 0), "k4w8r4h1": (4, 8, 4, 1), "k4w16r2h0": (4, 16, 2, 0)}
FORMS |= {"k8w8r4h1": (8, 8, 4, 1), "k8w8r4h2": (8, 8, 4, 2)}
MIN_COLS = 65536  # shorter rows fill few blocks
MAX_GROUPS = 7 * 32  # `counters` in grid_workspace.cuh


def plan(problem: Problem, form: str, writes: bool = True) -> tuple[LaunchPlan, ...]:
    """Return the launch for rows of this length; () if the resident blocks cannot hold a row.

    ``writes``: whether rows are written, instead of one word for each.
    """
    per_lane, warps, per_sm, _ = FORMS[form]
    itemsize = problem.dtype.itemsize
    # a row may begin anywhere in its first vector, up to one pack before the vector's end
    vectors = ceil_div((problem.cols - problem.pack) * itemsize + VEC_BYTES, VEC_BYTES)
    row_blocks = ceil_div(vectors, WARP * per_lane * warps)
    at_once = min(per_sm * problem.gpu.sm_count // row_blocks, MAX_GROUPS)  # rows
    if not at_once:
        return ()
    groups = ceil_div(problem.rows, ceil_div(problem.rows, at_once))  # row_blocks blocks each
    kernel = instantiate("read_meet_write", TYPES[problem.dtype], *FORMS[form], writes)
    launched = SOURCE, kernel, WARP * warps, groups * row_blocks
    return (LaunchPlan(*launched, row_blocks=row_blocks, extra_args=(row_blocks,)),)


# Planners by the name of the roofline and the form.
PLANNERS = {
    (name, form): functools.partial(plan, form=form, writes=writes > 0)
    for name, (_, writes) in MEETING_ROOFLINES.items()
    for form in FORMS
}


def candidates(operation: Operation, buffers: CallBuffers) -> dict[str, Call]:
    """Return the calls of an operation's roofline, by form, for buffers like these.

    Returns {} if the operation has no such roofline, or if it does not apply to the shape.
    """
    name, (x, *_) = operation.meeting_roofline, operation.matrices(buffers[:-1])
    gpu, (rows, cols) = launch.gpu_info(x.device), x.shape
    if (
        name is None
        or rows >= gpu.sm_count
        or cols < MIN_COLS
        or gpu.capability < CLUSTER_CAPABILITY
    ):
        return {}
    fit = [form for form in FORMS if plan(problem_of(x, False, gpu), form)]
    calls = {form: functools.partial(launch.run, PLANNERS[name, form]) for form in fit}
    if name == "read_meet":
        words = x.new_empty(rows, VEC_BYTES // x.itemsize)  # one vector per row, for alignment
        calls = {form: functools.partial(call, out=words) for form, call in calls.items()}
    return {form: on_buffers(operation, name, call) for form, call in calls.items()}
