"""Report what the drop-in does on this machine, and compile its kernels before they are needed.

``info`` and ``warm_up`` are the commands ``python -m softmax_bench info`` and ``warm-up``.
"""

import importlib.metadata
import importlib.util
import time
from collections.abc import Iterable
from itertools import product

import torch

from ..contract import CLUSTER_CAPABILITY, MAX_CACHED_BYTES, MIN_CAPABILITY
from ..cuda import cache
from . import api, eligible
from .functions import FUNCTIONS

DISTRIBUTIONS = "softmax-bench", "torch", "triton", "cuda-core", "nvidia-cuda-nvrtc"
INSTALL = "pip install cuda-core cuda-bindings nvidia-cuda-nvrtc"
WARM_UP_ROWS = 1, 16, 17  # Triton specialises on 1, on multiples of 16, and on other numbers


def info() -> str:
    """Return a text of several lines: versions, GPUs and the kernels that serve them, the cache."""
    lines = [(name, _version(name)) for name in DISTRIBUTIONS]
    if why := why_none():
        lines += [("kernels", f"none: {why}; torch computes every call")]
    else:
        lines += [("kernels", "below; rows are the last dimension, columns any other one")]
        for index in range(torch.cuda.device_count()):
            capability = "{}.{}".format(*torch.cuda.get_device_capability(index))
            name = f"{torch.cuda.get_device_name(index)}, compute capability {capability}"
            lines += [(f"cuda:{index}", name), *kernels_of(index)]
    lines += [("cache", f"{_cache()}; {cache.VARIABLE} names another folder")]
    return "\n".join(f"{name:<18} {value}" for name, value in lines)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed by pip"


def warm_up_rows(row_bytes: int) -> tuple[int, ...]:
    """Return numbers of rows that together use every kernel for rows of this many bytes."""
    # the last one is a large matrix, for which the packed and the spread kernels are others
    return *WARM_UP_ROWS, MAX_CACHED_BYTES // row_bytes + 1


def warm_up(dtypes: Iterable[str], lengths: Iterable[int]) -> str:
    """Call softmax, log_softmax and their backwards once, on contiguous rows, on every usable GPU.

    Returns a summary. ``dtypes`` are names such as "float32"; ``lengths`` are row lengths. The
    functions of logits are not included; they compile at their first call. Raises RuntimeError if
    no GPU runs the kernels, and torch's error for rows that do not fit in its memory.
    """
    if why := why_none():
        raise RuntimeError(f"{why}; kernels are compiled where they run")
    begin = time.perf_counter()
    gpus = filter(eligible.runs_kernels, range(torch.cuda.device_count()))
    for index, name, cols in product(gpus, dtypes, lengths):
        dtype, gpu = getattr(torch, name), f"cuda:{index}"
        for rows in warm_up_rows(cols * dtype.itemsize):
            x = torch.zeros(rows, cols, dtype=dtype, device=gpu, requires_grad=True)
            for function in FUNCTIONS:
                y = getattr(api, function.name)(x, -1)
                torch.autograd.grad(y, x, torch.ones_like(y))
        torch.cuda.synchronize(gpu)
    return f"compiled or found in {time.perf_counter() - begin:.1f} s; cache: {_cache()}"


def _cache() -> str:
    """Return the cache's folder and size, or why there is none."""
    if (folder := cache.folder()) is None:
        return "none, as this user has no home"
    return f"{folder}, {cache.size() / 1e6:.1f} MB"


def why_none() -> str | None:
    """Return why no GPU here runs a kernel, or None if one does."""
    if not torch.version.cuda:
        return f"torch {torch.__version__} is built without CUDA"
    if not torch.cuda.is_available():
        return "no NVIDIA GPU here, or no driver for it"
    if importlib.util.find_spec("triton") is None:
        return "the package triton is not installed"
    if not any(map(eligible.runs_kernels, range(torch.cuda.device_count()))):
        return "no GPU here has compute capability {}.{} or newer".format(*MIN_CAPABILITY)
    return None


def kernels_of(index: int) -> list[tuple[str, str]]:
    """Return (functions, the routes that compute them) for a GPU."""
    if not eligible.runs_kernels(index):
        return [("", "no kernel: its compute capability is too old; torch computes every call")]
    has_cuda_core = eligible.runs_cuda_kernels(index, MIN_CAPABILITY)
    softmax = "CUDA C++ for rows, Triton for columns and for gradients of short rows"
    if not has_cuda_core:
        softmax = f"Triton; for CUDA C++: {INSTALL}"
    elif not eligible.runs_cuda_kernels(index):
        softmax = "Triton; CUDA C++ needs compute capability {}.{}".format(*CLUSTER_CAPABILITY)
    of_logits = "CUDA C++ for rows" if has_cuda_core else f"torch; for CUDA C++: {INSTALL}"
    return [("  softmax", softmax), ("  of logits", of_logits)]
