"""Describe what a planner gets, a problem and a GPU, and what it returns, a launch plan."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from ..contract import CLUSTER_CAPABILITY, MIN_CAPABILITY, VEC_BYTES, max_cluster_blocks
from ..contract import WARP as WARP  # planners import it from here
from ..tensors import DTYPES

# C++ types, which types.cuh defines.
TYPES = dict(zip(DTYPES, ("float", "Half", "BFloat16"), strict=True))
EPILOGUES = "Softmax", "LogSoftmax"  # C++ types of epilogue.cuh.

PORTABLE_CLUSTER = 8  # blocks of a cluster that every GPU with clusters can place


class GpuProperties(NamedTuple):
    """Hold the properties of a GPU that decide which kernel runs."""

    name: str  # torch's and NVML's
    capability: tuple[int, int]
    max_shared_per_block: int  # bytes of shared memory that a block may have
    sm_count: int  # multiprocessors

    @property
    def max_cluster_blocks(self) -> int:
        return max_cluster_blocks(self.capability[0])


# The GPUs that kernels are compiled for on a machine without one.
# Source: CUDA C++ Programming Guide, NVIDIA's white papers.
GPUS = {
    "sm_80": GpuProperties("NVIDIA A100", (8, 0), 163 * 1024, 108),
    "sm_90": GpuProperties("NVIDIA H200", (9, 0), 227 * 1024, 132),
    "sm_100": GpuProperties("NVIDIA B200", (10, 0), 227 * 1024, 148),
}


class Problem(NamedTuple):
    """Hold what decides which kernel runs; addresses and strides count only through ``pack``.

    All matrices have ``dtype``, except where a call reads 16 bits and writes float32, or a backward
    reads float32 and writes 16 bits. Then ``dtype`` is float32, by which the row is tiled, and
    ``narrow`` is the 16-bit type.
    """

    dtype: torch.dtype
    rows: int
    cols: int
    pack: int  # elements that one instruction may move: 8, 4, 2 or 1, at most 16 bytes
    log: bool  # log_softmax instead of softmax
    gpu: GpuProperties
    narrow: torch.dtype | None = None  # the dtype of a forward's x, or of a backward's dx


class LaunchPlan(NamedTuple):
    """Name a kernel to compile, and say how to launch it."""

    source: Path  # a .cu file
    kernel: str  # C++ name of the template's instance
    threads: int  # per block
    blocks: int  # that the rows fill
    shared_bytes: int = 0  # dynamic shared memory of a block
    # Kernels that stride over rows launch at most what fills the GPU with threads `waves` times.
    waves: int | None = None
    cluster: int = 1  # blocks of a cluster; `blocks` then counts clusters
    # Blocks that share a row through a GridWorkspace. All blocks of the launch, a multiple of
    # these, are resident at once.
    row_blocks: int = 0
    uses_workspace: bool = False  # blocks share a row through one, and none waits for another
    extra_args: tuple[int, ...] = ()  # arguments after those that every kernel has

    @property
    def min_capability(self) -> tuple[int, int]:
        return CLUSTER_CAPABILITY if self.cluster > 1 or self.row_blocks else MIN_CAPABILITY


# Maps a problem to the kernels that may serve it, in ascending block sizes; to none if the
# algorithm does not take it.
Planner = Callable[[Problem], tuple[LaunchPlan, ...]]


def ceil_div(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()


def widest_pack(itemsize: int, addresses: int, counts: int) -> int:
    """Return how many elements of ``itemsize`` bytes one load or store may move: 8, 4, 2 or 1.

    ``addresses`` is the bitwise or of all addresses, in bytes. ``counts`` is the bitwise or of all
    row strides and the row's length, in elements. All must be multiples of the pack.
    """
    elements = (addresses // itemsize) | counts
    return min(elements & -elements, VEC_BYTES // itemsize)


def scale_alignment(address: int, narrow: int, wide: int) -> int:
    """Return an address whose elements of ``wide`` bytes are as aligned as narrow ones at this."""
    return address * (wide // narrow)


def problem_of(x: torch.Tensor, log: bool, gpu: GpuProperties) -> Problem:
    """Return the problem of x (M, N), with an output of x's alignment."""
    rows, cols = x.shape
    pack = widest_pack(x.element_size(), x.data_ptr(), x.stride(0) | cols)
    return Problem(x.dtype, rows, cols, pack, log, gpu)


@functools.lru_cache(maxsize=1024)  # It serves new shapes of loaded kernels.
def instantiate(template: str, *arguments: str | int | bool) -> str:
    """Return the C++ name of a template's instance, e.g. "f<float, 4, true>"."""
    texts = (str(a).lower() if isinstance(a, bool) else str(a) for a in arguments)
    return f"{template}<{', '.join(texts)}>"


def instantiate_for(
    template: str, problem: Problem, *arguments: int | bool, epilogues: tuple[str, str] = EPILOGUES
) -> str:
    """Return an instance's C++ name.

    Its first arguments are the element type and the epilogue. The last is the narrow type, which
    only templates that convert have.
    """
    narrow = () if problem.narrow is None else (TYPES[problem.narrow],)
    return instantiate(template, TYPES[problem.dtype], epilogues[problem.log], *arguments, *narrow)
