"""Provide the roofline: the copies of the same bytes of which the clock chooses the fastest.

No kernel is the fastest copy at every size and on every GPU. Triton's (``copy_kernel``) move a
block per program. Those of roofline.cu differ in three ways: streaming stores leave L2 first, a
persistent launch has as many blocks as the GPU holds, and bulk copies pass no register. A backward
reads two matrices and writes one, so its roofline is the sum of two matrices.
"""

import functools
from pathlib import Path
from typing import NamedTuple

import torch

from kernels.contract import CLUSTERS_SINCE, MIN_CAPABILITY, VEC_BYTES, WARP
from kernels.cuda import launch
from kernels.cuda.plan import TYPES, LaunchPlan, Planner, Problem, ceil_div, instantiate

from . import copy_kernel
from .base import Call, CallBuffers

SOURCE = Path(__file__).with_suffix(".cu")


class Vecs(NamedTuple):
    """Describe a copy or a sum by loads and stores of vectors."""

    per_lane: int  # vectors that a lane loads before it stores
    warps: int  # per block
    hint: int  # HINT of roofline.cu: 0 to 2
    per_sm: int  # blocks of a persistent launch per multiprocessor; 0: one turn for each block

    min_capability = MIN_CAPABILITY
    stages = 1
    shared_bytes = 0

    @property
    def name(self) -> str:
        return f"vecs_k{self.per_lane}w{self.warps}h{self.hint}r{self.per_sm}"

    @property
    def block_bytes(self) -> int:
        return self.per_lane * self.warps * WARP * VEC_BYTES

    def kernel(self, dtype: torch.dtype, reads: int) -> str:
        template = {1: "copy_vecs", 2: "add_vecs"}[reads]
        return instantiate(template, TYPES[dtype], self.per_lane, self.warps, self.hint)


class Bulk(NamedTuple):
    """Describe a copy by bulk copies through a ring in shared memory."""

    block_bytes: int  # bytes of a stage
    stages: int
    hint: int
    per_sm: int  # blocks per multiprocessor; 0: as many turns as stages for each block

    min_capability = CLUSTERS_SINCE
    warps = 1

    @property
    def name(self) -> str:
        return f"bulk_b{self.block_bytes // 1024}n{self.stages}h{self.hint}r{self.per_sm}"

    @property
    def shared_bytes(self) -> int:
        return self.block_bytes * self.stages

    def kernel(self, dtype: torch.dtype, reads: int) -> str:
        sizes = self.block_bytes, self.stages, self.hint
        return instantiate("copy_bulk", TYPES[dtype], *sizes)


Form = Vecs | Bulk
READS = {"copy": 1, "add": 2}  # matrices
FORMS = {
    1: (
        Vecs(2, 4, 2, 0),
        Vecs(4, 8, 1, 0),
        Vecs(8, 4, 2, 0),
        Vecs(8, 8, 1, 4),
        Bulk(16384, 4, 1, 0),
        Bulk(16384, 6, 2, 2),
    ),
    2: (Vecs(1, 8, 0, 0), Vecs(1, 8, 2, 0), Vecs(4, 8, 2, 2)),
}
# The copies of Triton that are the fastest of all somewhere; the others serve unaligned matrices.
FASTEST_OF_TRITON = "triton_2048", "triton_4096"


def plan(problem: Problem, form: Form, reads: int = 1) -> tuple[LaunchPlan, ...]:
    """Return the launch of a form for a contiguous matrix; see ``plan.Planner``."""
    if problem.gpu.capability < form.min_capability:
        return ()
    turns = max(1, ceil_div(problem.rows * problem.cols * problem.dtype.itemsize, form.block_bytes))
    at_once = form.per_sm * problem.gpu.sm_count or ceil_div(turns, form.stages)
    blocks = ceil_div(turns, ceil_div(turns, at_once))  # which take as many turns, or one less
    kernel = form.kernel(problem.dtype, reads)
    return (LaunchPlan(SOURCE, kernel, form.warps * WARP, blocks, form.shared_bytes),)


@functools.cache  # one planner for each form, because launches are cached by it
def planner(form: Form, reads: int) -> Planner:
    return functools.partial(plan, form=form, reads=reads)


def call_of(form: Form, reads: int) -> Call:
    """Return the call of a form, of contiguous and aligned buffers: the first inputs, and out."""
    chosen = planner(form, reads)

    def call(*buffers: torch.Tensor) -> None:
        inputs, out = buffers[:reads], buffers[-1]
        rows, cols = out.shape
        pack, device = VEC_BYTES // out.itemsize, out.get_device()
        key = chosen, out.dtype, rows, cols, pack, False, device, None
        addresses = (each.data_ptr() for each in (out, *inputs))
        launch.launch_with(key, (*addresses, *(cols,) * (reads + 1), rows, cols))

    return call


def candidates(kind: str, buffers: CallBuffers) -> dict[str, Call]:
    """Return the calls by name, for matrices like these buffers of a call; ``kind``: of READS.

    Triton's alone take matrices that do not begin at a multiple of 16 bytes.
    """
    out, reads = buffers[-1], READS[kind]
    calls = dict(copy_kernel.candidates(out.itemsize, reads))
    if any(each.data_ptr() % VEC_BYTES for each in buffers):
        return calls
    gpu = launch.gpu_info(out.device)
    return {name: calls[name] for name in FASTEST_OF_TRITON} | {
        form.name: call_of(form, reads)
        for form in FORMS[reads]
        if gpu.capability >= form.min_capability
    }


def block_bytes(name: str) -> int:
    """Return the bytes that a block of a candidate moves at once."""
    own = {form.name: form.block_bytes for forms in FORMS.values() for form in forms}
    return own.get(name) or copy_kernel.BLOCK_BYTES[name]
