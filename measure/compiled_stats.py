"""Time the first call, and read registers, spills and occupancy of the kernels it compiled."""

import sys
import time
from collections.abc import Iterable

import torch
from cuda.bindings import driver

import kernels
from kernels.contract import WARP
from kernels.cuda.driver import checked

from .clock.base import Call, Inputs
from .inputs import empty_out


def first_call(name: str, op: str, call: Call, inputs: Inputs) -> dict:
    """Return the columns compile_s, peak_memory_bytes and those of the compiled kernels."""
    out = empty_out(op, inputs)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    call(*inputs, out)
    torch.cuda.synchronize()
    columns = {
        "compile_s": time.perf_counter() - begin,
        "peak_memory_bytes": torch.cuda.max_memory_allocated(),
    }
    if "cuda" in kernels.packages(name):
        return columns | cuda_columns()
    return columns | triton_columns(kernels.loaded_modules(name))


def cuda_columns() -> dict:
    """Return the columns of all kernels that kernels/cuda/launch.py has launched; {} if none."""
    from kernels.cuda import launch  # needs cuda-core

    launches = launch.cached_launches()
    return _columns(
        registers=[one.kernel.attributes.num_regs for one in launches],
        spilled_bytes=[one.kernel.attributes.local_size_bytes for one in launches],
        shared_bytes=[
            one.plan.shared_bytes + one.kernel.attributes.shared_size_bytes for one in launches
        ],
        num_warps=[one.plan.threads // WARP for one in launches],
        blocks_per_sm=[one.blocks_per_sm for one in launches],
    )


def triton_columns(module_names: Iterable[str]) -> dict:
    """Return the columns of the Triton kernels that these modules have launched; {} if none.

    Autotuned kernels are left out, because most of them were compiled only to be rejected.
    """
    launched = [kernel for name in module_names for kernel in _launched(sys.modules.get(name))]
    return _columns(
        registers=[kernel.n_regs for kernel in launched],
        spilled_bytes=[4 * kernel.n_spills for kernel in launched],  # n_spills: words of 4 bytes
        shared_bytes=[kernel.metadata.shared for kernel in launched],
        num_warps=[kernel.metadata.num_warps for kernel in launched],
        blocks_per_sm=[_blocks_per_sm(kernel) for kernel in launched],
    )


def _columns(blocks_per_sm: list[int], **figures: list[int]) -> dict:
    """Return the largest value of each figure over all kernels, and the fewest resident blocks."""
    if not blocks_per_sm:
        return {}
    largest = {name: max(values) for name, values in figures.items()}
    return largest | {"blocks_per_sm": min(blocks_per_sm)}


def _launched(module) -> list:
    compiled = []
    for value in vars(module).values() if module else ():
        # JITFunction.device_caches: device -> (compiled kernels by key, …), since Triton 3.2
        for caches in getattr(value, "device_caches", {}).values():
            # a kernel that was not launched has no binary loaded
            compiled += [k for k in caches[0].values() if getattr(k, "function", None)]
    return compiled


def _blocks_per_sm(kernel) -> int:
    function, threads = driver.CUfunction(kernel.function), WARP * kernel.metadata.num_warps
    ask = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor
    (blocks,) = checked(ask(function, threads, kernel.metadata.shared))
    return blocks
