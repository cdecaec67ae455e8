"""Compile CUDA C++ with NVRTC, through NVIDIA's cuda-core; needs neither a GPU nor a driver."""

import functools
import importlib.metadata
from pathlib import Path
from typing import TextIO

import torch
from cuda.core import ObjectCode, Program, ProgramOptions
from cuda.core.utils import make_program_cache_key

from . import cache
from .plan import GPUS, Planner, problem_of
from .sources import expanded, shown_name


def build(
    source: Path, kernels: tuple[str, ...], arch: str, log: TextIO | None = None
) -> ObjectCode:
    """Return a cubin with these template instances of ``source`` for ``arch``, such as "sm_90".

    ``log`` receives the compiler's warnings. Raises cuda-core's NVRTCError with its errors.
    """
    program = Program(expanded(source), code_type="c++", options=_options(source, arch))
    return program.compile("cubin", name_expressions=kernels, logs=log)


def build_once(source: Path, kernel: str, arch: str) -> ObjectCode:
    """Return the binary of one kernel, from the user's cache if it is there.

    The key covers NVRTC's version, the options, the source and its headers. Without a usable cache,
    as in a read-only home, every process compiles the kernel itself.
    """
    key = make_program_cache_key(
        code=expanded(source),
        code_type="c++",
        options=_options(source, arch),
        target_type="cubin",
        name_expressions=(kernel,),
        extra_digest=_nvrtc_version(),
    )
    if kept := cache.read(key):
        symbol, binary = kept
        return ObjectCode.from_cubin(binary, symbol_mapping={kernel: symbol})
    built = build(source, (kernel,), arch)
    cache.write(key, built.symbol_mapping[kernel], bytes(built.code))
    return built


def build_for(planner: Planner, x: torch.Tensor, log: bool, arch: str) -> list[str]:
    """Compile all kernels that a call on x (M, N) may launch on a GPU of ``arch``.

    Returns their C++ names: none if the algorithm or the architecture does not support x. Raises
    what ``build`` raises, and KeyError for an architecture that is not in GPUS.
    """
    problem = problem_of(x, log, GPUS[arch])
    plans = [plan for plan in planner(problem) if plan.min_capability <= problem.gpu.capability]
    for plan in plans:
        build(plan.source, (plan.kernel,), arch)
    return [plan.kernel for plan in plans]


def _options(source: Path, arch: str) -> ProgramOptions:
    return ProgramOptions(
        name=shown_name(source),
        arch=arch,
        std="c++17",
        device_as_default_execution_space=True,  # makes lambdas device functions
    )


@functools.cache
def _nvrtc_version() -> bytes:
    """Return the full version of NVRTC's package; cuda-core's key lacks the patch level."""
    try:
        return importlib.metadata.version("nvidia-cuda-nvrtc").encode()
    except importlib.metadata.PackageNotFoundError:
        return b"not installed by pip"
