"""What the compiler made of a variant's Triton kernels."""

import ctypes
import sys
from collections.abc import Iterable


def resources(module_names: Iterable[str]) -> dict:
    """The row's kernel columns, from every Triton kernel that these modules hold and have run.

    With several kernels, the largest of each figure, and the fewest resident blocks. Empty where
    there is none, where this Triton keeps its compiled kernels elsewhere, and for autotuned
    kernels, of which most were compiled only to be rejected.
    """
    compiled = [k for name in module_names for k in _compiled(sys.modules.get(name))]
    if not compiled:
        return {}
    return {
        "registers": max(k.n_regs for k in compiled),
        "spilled_bytes": max(4 * k.n_spills for k in compiled),  # Triton counts 4-byte words
        "shared_bytes": max(k.metadata.shared for k in compiled),
        "num_warps": max(k.metadata.num_warps for k in compiled),
        "blocks_per_sm": min(_blocks_per_sm(k) for k in compiled),
    }


def _compiled(module) -> list:
    found = []
    for value in vars(module).values() if module else ():
        # JITFunction.device_caches: device -> (compiled kernels by key, …), since Triton 3.2
        for caches in getattr(value, "device_caches", {}).values():
            # launched kernels only: the others have no binary loaded
            found += [k for k in caches[0].values() if getattr(k, "function", None)]
    return found


def _blocks_per_sm(kernel) -> int:
    """Blocks of this kernel that are resident on one multiprocessor, as the driver says."""
    blocks = ctypes.c_int()
    error = ctypes.CDLL("libcuda.so.1").cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(blocks),
        ctypes.c_void_p(kernel.function),
        ctypes.c_int(32 * kernel.metadata.num_warps),
        ctypes.c_size_t(kernel.metadata.shared),
    )
    if error:
        raise RuntimeError(f"cuOccupancyMaxActiveBlocksPerMultiprocessor: CUDA error {error}")
    return blocks.value
