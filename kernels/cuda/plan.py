"""Define planners: functions from a Problem (a shape on a GPU) to the LaunchPlan of a kernel.

A planner picks the instance of a C++ template and the grid for one shape. It needs no GPU, so it
can also be asked about GPUs that are not there.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from ..contract import CLUSTER_CAPABILITY, MIN_CAPABILITY, VEC_BYTES, max_cluster_blocks
from ..contract import WARP as WARP  # planners import it from here
from ..tensors import DTYPES

# C++ element types, which types.cuh defines, by torch's dtype.
TYPES = dict(zip(DTYPES, ("float", "Half", "BFloat16"), strict=True))
EPILOGUES = "Softmax", "LogSoftmax"  # C++ types of epilogue.cuh

PORTABLE_CLUSTER = 8  # blocks per cluster that every GPU with clusters supports


class GpuProperties(NamedTuple):
    """Hold the properties of a GPU that determine which kernel runs."""

    name: str  # torch's and NVML's
    capability: tuple[int, int]
    max_shared_per_block: int  # bytes of shared memory per block, at most
    sm_count: int  # multiprocessors

    @property
    def max_cluster_blocks(self) -> int:
        return max_cluster_blocks(self.capability[0])


# GPUs for which kernels are compiled on a machine without a GPU, by architecture.
# Source: CUDA C++ Programming Guide, NVIDIA's white papers.
GPUS = {
    "sm_80": GpuProperties("NVIDIA A100", (8, 0), 163 * 1024, 108),
    "sm_90": GpuProperties("NVIDIA H200", (9, 0), 227 * 1024, 132),
    "sm_100": GpuProperties("NVIDIA B200", (10, 0), 227 * 1024, 148),
}


class Problem(NamedTuple):
    """Hold what determines which kernel runs; addresses and strides matter only through ``pack``.

    Usually all matrices have ``dtype``. If a forward reads 16 bits and writes float32, or a
    backward reads float32 and writes 16 bits, ``dtype`` is float32, by which the row is tiled, and
    ``narrow`` is the 16-bit type.
    """

    dtype: torch.dtype
    rows: int
    cols: int
    pack: int  # elements per load or store that alignment permits: 8, 4, 2 or 1, up to 16 bytes
    log: bool  # log_softmax instead of softmax
    gpu: GpuProperties
    narrow: torch.dtype | None = None  # the dtype of a forward's x, or of a backward's dx


class LaunchPlan(NamedTuple):
    """Name the kernel to compile, and describe its launch."""

    source: Path  # a .cu file
    kernel: str  # C++ name of the template's instance
    threads: int  # per block
    blocks: int  # thread blocks that the rows fill; clusters, if `cluster` is not 1
    shared_bytes: int = 0  # dynamic shared memory per block
    # For kernels that stride over rows: at most so many times the blocks that fill the GPU.
    waves: int | None = None
    cluster: int = 1  # blocks per cluster
    # Blocks that share a row through a GridWorkspace and wait for each other. The launch has a
    # multiple of them, all resident at once.
    row_blocks: int = 0
    uses_workspace: bool = False  # blocks share a row through one, but do not wait for each other
    extra_args: tuple[int, ...] = ()  # arguments after those that every kernel has

    @property
    def min_capability(self) -> tuple[int, int]:
        return CLUSTER_CAPABILITY if self.cluster > 1 or self.row_blocks else MIN_CAPABILITY


# A planner returns the plans that may serve a problem, in ascending order of block size; () if its
# algorithm does not support the problem.
Planner = Callable[[Problem], tuple[LaunchPlan, ...]]


def ceil_div(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()


def widest_pack(itemsize: int, addresses: int, counts: int) -> int:
    """Return how many elements of ``itemsize`` bytes one load or store may move: 8, 4, 2 or 1.

    All addresses, row strides and the row's length must be multiples of it. ``addresses`` is the
    bitwise or of the addresses, in bytes; ``counts`` that of strides and length, in elements.
    """
    elements = (addresses // itemsize) | counts
    return min(elements & -elements, VEC_BYTES // itemsize)


def scale_alignment(address: int, narrow: int, wide: int) -> int:
    """Return an address that is to ``wide``-byte elements as ``address`` is to ``narrow`` ones."""
    return address * (wide // narrow)


def problem_of(x: torch.Tensor, log: bool, gpu: GpuProperties) -> Problem:
    """Return the problem of x (M, N), for an output of the same alignment."""
    rows, cols = x.shape
    pack = widest_pack(x.element_size(), x.data_ptr(), x.stride(0) | cols)
    return Problem(x.dtype, rows, cols, pack, log, gpu)


@functools.lru_cache(maxsize=1024)  # serves new shapes of loaded kernels
def instantiate(template: str, *arguments: str | int | bool) -> str:
    """Return the C++ name of a template's instance, e.g. "f<float, 4, true>"."""
    texts = (str(a).lower() if isinstance(a, bool) else str(a) for a in arguments)
    return f"{template}<{', '.join(texts)}>"


def instantiate_for(
    template: str, problem: Problem, *arguments: int | bool, epilogues: tuple[str, str] = EPILOGUES
) -> str:
    """Return the C++ name of a template's instance for a problem.

    Its arguments are the element type, the epilogue, ``arguments`` and, if the problem converts
    between dtypes, the narrow type.
    """
    narrow = () if problem.narrow is None else (TYPES[problem.narrow],)
    return instantiate(template, TYPES[problem.dtype], epilogues[problem.log], *arguments, *narrow)
