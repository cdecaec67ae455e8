"""Decide which devices the drop-in's kernels run on."""

import functools
import importlib.util

import torch
from torch import Tensor

from ..contract import CLUSTERS_SINCE, OLDEST


def constant(function):
    """Make compilers treat the result of ``function`` as a constant.

    torch.compiler.assume_constant_result does the same, but imports the compiler for a second.
    """
    function._dynamo_marked_constant = True
    return function


def usable(x: Tensor) -> bool:
    """Return whether x is on a device that the kernels run on."""
    return x.is_cuda and _usable_gpu(x.get_device())


@constant
def _usable_gpu(index: int) -> bool:
    return _has_triton(index)


@functools.cache
def _has_triton(index: int) -> bool:
    if not torch.version.cuda or importlib.util.find_spec("triton") is None:
        return False
    return torch.cuda.get_device_capability(index) >= OLDEST


@functools.cache
def has_clusters(index: int) -> bool:
    """Return whether a GPU runs the CUDA C++ kernels, including those for clusters of blocks.

    They need NVIDIA's cuda-core, which torch and Triton do not bring.
    """
    if index < 0 or torch.cuda.get_device_capability(index) < CLUSTERS_SINCE:
        return False
    return all(importlib.util.find_spec(name) is not None for name in ("cuda", "cuda.core"))
