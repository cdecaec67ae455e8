"""Compile CUDA C++ by NVRTC through NVIDIA's cuda-core, without a GPU or a driver."""

import contextlib
import functools
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TextIO

import torch
from cuda.core import ObjectCode, Program, ProgramOptions
from cuda.core.utils import FileStreamProgramCache, make_program_cache_key

from ..cache import folder
from ..contract import CLUSTERS_SINCE, OLDEST, max_cluster
from ..registry.source_hash import digest
from ..tensors import DTYPES

INCLUDE = Path(__file__).parent / "include"
TYPES = dict(zip(DTYPES, ("float", "Half", "BFloat16"), strict=True))  # in types.cuh
EPILOGUES = "Softmax", "LogSoftmax"  # in epilogue.cuh

WARP = 32  # threads; kWarp in types.cuh
VEC_BYTES = 16  # that one instruction moves at most
PORTABLE_CLUSTER = 8  # blocks of a cluster that every GPU with clusters can place
CACHE_BYTES = 64 * 2**20  # a binary has some 20 KiB


class Gpu(NamedTuple):
    """The properties of a GPU that decide which kernel runs."""

    name: str  # torch's and NVML's
    capability: tuple[int, int]
    max_shared_per_block: int  # bytes of shared memory that a block may have
    sm_count: int  # multiprocessors

    @property
    def max_cluster(self) -> int:
        return max_cluster(self.capability[0])


# To compile without a GPU. Source: CUDA C++ Programming Guide, NVIDIA's white papers.
GPUS = {
    "sm_80": Gpu("NVIDIA A100", (8, 0), 163 * 1024, 108),
    "sm_90": Gpu("NVIDIA H200", (9, 0), 227 * 1024, 132),
    "sm_100": Gpu("NVIDIA B200", (10, 0), 227 * 1024, 148),
}


class Problem(NamedTuple):
    """What decides which kernel runs; addresses and strides count only through ``pack``."""

    dtype: torch.dtype
    rows: int
    cols: int
    pack: int  # elements that one instruction may move: 8, 4, 2 or 1, at most 16 bytes
    log: bool  # log_softmax instead of softmax
    gpu: Gpu


class LaunchPlan(NamedTuple):
    """A kernel to compile, and how to launch it."""

    source: Path  # a .cu file
    kernel: str  # C++ name of the template's instance
    threads: int  # of a block
    blocks: int  # that the rows fill
    shared_bytes: int = 0  # dynamic shared memory of a block
    # Kernels that stride over rows launch at most what fills the GPU with threads `waves` times.
    waves: int | None = None
    cluster: int = 1  # blocks of a cluster; `blocks` then counts clusters
    # Blocks that share a row through a GridWorkspace. All blocks of the launch, a multiple of
    # these, are resident at once.
    row_blocks: int = 0
    extra_args: tuple[int, ...] = ()  # arguments after those that every kernel has

    @property
    def min_capability(self) -> tuple[int, int]:
        return CLUSTERS_SINCE if self.cluster > 1 or self.row_blocks else OLDEST


# Maps a problem to the kernels that may serve it, in ascending block sizes; to none if the
# algorithm does not take it.
Planner = Callable[[Problem], tuple[LaunchPlan, ...]]


def widest_pack(itemsize: int, addresses: int, counts: int) -> int:
    """Return how many elements of ``itemsize`` bytes one load or store may move: 8, 4, 2 or 1.

    ``addresses`` is the bitwise or of all addresses, in bytes. ``counts`` is the bitwise or of all
    row strides and the row's length, in elements. All must be multiples of the pack.
    """
    elements = (addresses // itemsize) | counts
    return min(elements & -elements, VEC_BYTES // itemsize)


def problem_of(x: torch.Tensor, log: bool, gpu: Gpu) -> Problem:
    """Return the problem of x (M, N), with an output of x's alignment."""
    rows, cols = x.shape
    pack = widest_pack(x.element_size(), x.data_ptr(), x.stride(0) | cols)
    return Problem(x.dtype, rows, cols, pack, log, gpu)


@functools.lru_cache(maxsize=1024)  # for new shapes of kernels that are loaded
def instantiate(template: str, *arguments: str | int | bool) -> str:
    """Return the C++ name of a template's instance, e.g. "f<float, 4, true>"."""
    texts = (str(a).lower() if isinstance(a, bool) else str(a) for a in arguments)
    return f"{template}<{', '.join(texts)}>"


def instantiate_for(
    template: str, problem: Problem, epilogues: tuple[str, str], *arguments: int | bool
) -> str:
    """Return the C++ name of an instance whose arguments begin with element type and epilogue.

    ``epilogues``: of softmax and of log-softmax.
    """
    return instantiate(template, TYPES[problem.dtype], epilogues[problem.log], *arguments)


def build(
    source: Path, kernels: tuple[str, ...], arch: str, log: TextIO | None = None
) -> ObjectCode:
    """Return a binary of these kernels of ``source`` for ``arch``, such as "sm_90".

    ``log`` receives the compiler's warnings, and ptxas's registers and spills of each kernel.
    Raises cuda-core's NVRTCError, which quotes the compiler.
    """
    options = _options(source, arch, ptxas_options=["-v"] if log else None)
    program = Program(source.read_text(), code_type="c++", options=options)
    return program.compile("cubin", name_expressions=kernels, logs=log)


def build_once(source: Path, kernel: str, arch: str) -> ObjectCode:
    """Return the binary of one kernel, from the user's cache if it is there.

    NVRTC's version, the options and all sources are part of its key. Without a cache, such as in a
    read-only home, every process builds the kernel again.
    """
    key = make_program_cache_key(
        code=source.read_text(),
        code_type="c++",
        options=_options(source, arch),
        target_type="cubin",
        name_expressions=(kernel,),
        extra_digest=_extra_key(source.parent),
    )
    try:
        with FileStreamProgramCache(folder() / "nvrtc", max_size_bytes=CACHE_BYTES) as cache:
            binary, symbol = cache.get(key), cache.get(key + b" symbol")
            if binary and symbol:
                return ObjectCode.from_cubin(binary, symbol_mapping={kernel: symbol})
            built = build(source, (kernel,), arch)
            cache[key + b" symbol"] = built.symbol_mapping[kernel]
            cache[key] = bytes(built.code)
            return built
    except OSError:
        return build(source, (kernel,), arch)


def build_for(planner: Planner, x: torch.Tensor, log: bool, arch: str) -> list[str]:
    """Compile all kernels that a call on x (M, N) may launch on a GPU of ``arch``.

    Returns their C++ names: none if the algorithm or the architecture does not take x. Raises as
    ``build``, and KeyError for an architecture that is not in GPUS.
    """
    problem = problem_of(x, log, GPUS[arch])
    plans = [plan for plan in planner(problem) if plan.min_capability <= problem.gpu.capability]
    for plan in plans:
        build(plan.source, (plan.kernel,), arch)
    return [plan.kernel for plan in plans]


def _options(source: Path, arch: str, **options) -> ProgramOptions:
    return ProgramOptions(
        name=source.name,
        arch=arch,
        std="c++17",
        include_path=[str(source.parent), str(INCLUDE)],
        device_as_default_execution_space=True,  # for lambdas
        **options,
    )


@functools.cache
def _extra_key(folder: Path) -> bytes:
    """Return what cuda-core's key lacks: headers of a source in ``folder``, NVRTC's patch."""
    headers, version = digest([*folder.glob("*.cuh"), *INCLUDE.glob("*.cuh")]), ""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version("nvidia-cuda-nvrtc")
    return f"{headers} {version}".encode()
