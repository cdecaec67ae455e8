"""Compile CUDA C++ by NVRTC through NVIDIA's cuda-core, without a GPU or a driver."""

import contextlib
import functools
import importlib.metadata
from pathlib import Path
from typing import TextIO

import torch
from cuda.core import ObjectCode, Program, ProgramOptions
from cuda.core.utils import FileStreamProgramCache, make_program_cache_key

from ..registry.source_hash import code_sha256
from .cache import folder
from .plan import GPUS, Planner, problem_of

INCLUDE = Path(__file__).parent / "include"
CACHE_BYTES = 64 * 2**20  # a binary has some 20 KiB


def build(
    source: Path, kernels: tuple[str, ...], arch: str, log: TextIO | None = None
) -> ObjectCode:
    """Return a binary of these kernels of ``source`` for ``arch``, such as "sm_90".

    ``log`` receives the compiler's warnings. Raises cuda-core's NVRTCError, which quotes the
    compiler.
    """
    program = Program(source.read_text(), code_type="c++", options=_options(source, arch))
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


def _options(source: Path, arch: str) -> ProgramOptions:
    return ProgramOptions(
        name=source.name,
        arch=arch,
        std="c++17",
        include_path=[str(source.parent), str(INCLUDE)],
        device_as_default_execution_space=True,  # for lambdas
    )


@functools.cache
def _extra_key(folder: Path) -> bytes:
    """Return what cuda-core's key lacks: headers of a source in ``folder``, NVRTC's patch."""
    headers, version = code_sha256([*folder.glob("*.cuh"), *INCLUDE.glob("*.cuh")]), ""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version("nvidia-cuda-nvrtc")
    return f"{headers} {version}".encode()
