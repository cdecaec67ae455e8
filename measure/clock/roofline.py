"""Provide the roofline: kernels that move the same bytes, of which the clock picks the fastest.

No kernel is the fastest copy at every size and on every GPU. Those in Triton (``copy_kernel``) move
one block per program. Those of roofline.cu differ in three ways: streaming stores, which are
evict-first in L2; persistent launches, which have as many blocks as the GPU holds; and bulk copies,
which bypass the registers. For an operation that reads two matrices and writes one, the roofline
adds two matrices. For one that reads a matrix and writes a few values per row, it reads a matrix
and writes one word per block.
"""

import functools
from pathlib import Path
from typing import NamedTuple

import torch

from kernels.contract import CLUSTER_CAPABILITY, MIN_CAPABILITY, VEC_BYTES, WARP
from kernels.cuda import launch
from kernels.cuda.plan import TYPES, LaunchPlan, Planner, Problem, ceil_div, instantiate, problem_of
from operations import ROOFLINES, Operation

from . import copy_kernel
from .base import Call, CallBuffers, tensors_of
from .controls import on_buffers

SOURCE = Path(__file__).with_suffix(".cu")


class Vecs(NamedTuple):
    """Describe a kernel that copies, adds or reads by vector loads and stores."""

    per_lane: int  # vectors of each matrix that a lane loads before it stores or uses one
    warps: int  # per block
    hint: int  # HINT of roofline.cu: 0 to 2
    per_sm: int  # blocks per multiprocessor of a persistent launch; 0: each block has one turn

    min_capability = MIN_CAPABILITY
    stages = 1
    shared_bytes = 0

    @property
    def name(self) -> str:
        return f"vecs_k{self.per_lane}w{self.warps}h{self.hint}r{self.per_sm}"

    @property
    def block_bytes(self) -> int:
        return self.per_lane * self.warps * WARP * VEC_BYTES

    def kernel(self, dtype: torch.dtype, kind: str) -> str:
        return instantiate(f"{kind}_vecs", TYPES[dtype], self.per_lane, self.warps, self.hint)


class Bulk(NamedTuple):
    """Describe a kernel that copies or reads by bulk copies through a ring in shared memory."""

    block_bytes: int  # bytes per stage
    stages: int
    hint: int
    per_sm: int  # blocks per multiprocessor; 0: each block has as many turns as stages

    min_capability = CLUSTER_CAPABILITY
    warps = 1

    @property
    def name(self) -> str:
        return f"bulk_b{self.block_bytes // 1024}n{self.stages}h{self.hint}r{self.per_sm}"

    @property
    def shared_bytes(self) -> int:
        return self.block_bytes * self.stages

    def kernel(self, dtype: torch.dtype, kind: str) -> str:
        sizes = self.block_bytes, self.stages, self.hint
        return instantiate(f"{kind}_bulk", TYPES[dtype], *sizes)


Form = Vecs | Bulk
FORMS = {
    "copy": (
        Vecs(2, 4, 2, 0),
        Vecs(4, 8, 1, 0),
        Vecs(8, 4, 2, 0),
        Vecs(8, 8, 1, 4),
        Bulk(16384, 4, 1, 0),
        Bulk(16384, 6, 2, 2),
    ),
    "add": (Vecs(1, 8, 0, 0), Vecs(1, 8, 2, 0), Vecs(4, 8, 2, 2)),
    # HINT 2 differs from 1 only for stores
    "read": (
        Vecs(2, 4, 1, 0),
        Vecs(4, 8, 1, 0),
        Vecs(8, 4, 1, 0),
        Vecs(8, 8, 1, 4),
        Bulk(16384, 4, 1, 0),
        Bulk(16384, 6, 1, 2),
    ),
}
# Triton's copies that are the fastest candidate somewhere; the others serve unaligned matrices.
FASTEST_OF_TRITON = "triton_2048", "triton_4096"


def plan(problem: Problem, form: Form, kind: str = "copy") -> tuple[LaunchPlan, ...]:
    """Return the launch of a form for a contiguous matrix; see ``plan.Planner``."""
    if problem.gpu.capability < form.min_capability:
        return ()
    turns = max(1, ceil_div(problem.rows * problem.cols * problem.dtype.itemsize, form.block_bytes))
    at_once = form.per_sm * problem.gpu.sm_count or ceil_div(turns, form.stages)
    blocks = ceil_div(turns, ceil_div(turns, at_once))  # their numbers of turns differ by 1 at most
    kernel = form.kernel(problem.dtype, kind)
    return (LaunchPlan(SOURCE, kernel, form.warps * WARP, blocks, form.shared_bytes),)


@functools.cache  # one planner object per form, because it is part of the key of a launch
def planner(form: Form, kind: str) -> Planner:
    return functools.partial(plan, form=form, kind=kind)


def call_of(form: Form, kind: str, x: torch.Tensor) -> Call:
    """Return the call of a form (see FORMS), for contiguous, aligned matrices like x (M, N).

    The call takes the matrices that it reads, and then the one that it writes, if any.
    """
    chosen, (rows, cols), device = planner(form, kind), x.shape, x.get_device()
    key = chosen, x.dtype, rows, cols, VEC_BYTES // x.itemsize, False, device, None
    reads, writes = ROOFLINES[kind]
    words = ()
    if not writes:
        (launched,) = chosen(problem_of(x, False, launch.gpu_info(x.device)))
        words = (torch.empty(launched.blocks, dtype=torch.int32, device=x.device),)

    def call(*matrices: torch.Tensor) -> None:
        *inputs, out = (*matrices, *words)
        addresses = (tensor.data_ptr() for tensor in (out, *inputs))
        launch.launch_with(key, (*addresses, *(cols,) * (reads + 1), rows, cols))

    return call


def candidates(operation: Operation, buffers: CallBuffers) -> dict[str, Call]:
    """Return the calls of an operation's roofline, by name, for buffers like these.

    If a matrix does not begin at a multiple of 16 bytes, only Triton's can run.
    """
    kind, (x, *_) = operation.roofline, operation.matrices(buffers[:-1])
    calls = copy_kernel.candidates(kind, x)
    if all(tensor.data_ptr() % VEC_BYTES == 0 for tensor in tensors_of(buffers)):
        capability = launch.gpu_info(x.device).capability
        calls = {name: calls[name] for name in FASTEST_OF_TRITON}
        forms = (form for form in FORMS[kind] if capability >= form.min_capability)
        calls |= {form.name: call_of(form, kind, x) for form in forms}
    return {name: on_buffers(operation, kind, call) for name, call in calls.items()}


def block_bytes(name: str) -> int:
    """Return how many bytes a thread block of a candidate moves at a time."""
    own = {form.name: form.block_bytes for forms in FORMS.values() for form in forms}
    return own.get(name) or copy_kernel.BLOCK_BYTES[name]
