"""What the compilers made of a variant: at its first call on a GPU, or compiled without one."""

import ctypes
import sys
import time
from collections.abc import Iterable

import torch

import kernels

from ..point import Point
from ..status import Ended

ARCHITECTURES = ("sm_80", "sm_90")  # A100 and H200, for which CUDA C++ is compiled


def first_call(name: str, call, inputs: tuple[torch.Tensor, ...]) -> dict:
    """Return the columns compile_s, peak_memory_bytes and those of the compiled kernels.

    ``inputs``: matrices (M, N).
    """
    out = torch.empty_like(inputs[0])
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    call(*inputs, out)
    torch.cuda.synchronize()
    columns = {
        "compile_s": time.perf_counter() - begin,
        "peak_memory_bytes": torch.cuda.max_memory_allocated(),
    }
    return columns | (
        of_cuda() if "cuda" in kernels.packages(name) else of_triton(kernels.loaded_modules(name))
    )


def of_cuda() -> dict:
    """Return the kernel columns of every CUDA C++ kernel that this process has launched.

    Empty if none was launched through kernels/cuda/launch.py.
    """
    from kernels.cuda import launch  # needs cuda-core

    used = [(ready, ready.kernel.attributes) for ready in launch.launched()]
    return _columns(
        registers=[has.num_regs for _, has in used],
        spilled_bytes=[has.local_size_bytes for _, has in used],
        shared_bytes=[r.spec.shared_bytes + has.shared_size_bytes for r, has in used],
        num_warps=[ready.spec.threads // 32 for ready, _ in used],
        blocks_per_sm=[ready.blocks_per_sm for ready, _ in used],
    )


def of_triton(module_names: Iterable[str]) -> dict:
    """Return the kernel columns of every Triton kernel that these modules have launched.

    Empty if there is none, and for autotuned kernels, of which most were compiled only to be
    rejected.
    """
    compiled = [k for name in module_names for k in _launched(sys.modules.get(name))]
    return _columns(
        registers=[k.n_regs for k in compiled],
        spilled_bytes=[4 * k.n_spills for k in compiled],  # Triton counts words of 4 bytes
        shared_bytes=[k.metadata.shared for k in compiled],
        num_warps=[k.metadata.num_warps for k in compiled],
        blocks_per_sm=[_blocks_per_sm(k) for k in compiled],
    )


def _columns(blocks_per_sm: list[int], **figures: list[int]) -> dict:
    """Return the largest of each figure over all kernels, and the fewest resident blocks."""
    if not blocks_per_sm:
        return {}
    return {name: max(of) for name, of in figures.items()} | {"blocks_per_sm": min(blocks_per_sm)}


def _launched(module) -> list:
    found = []
    for value in vars(module).values() if module else ():
        # JITFunction.device_caches: device -> (compiled kernels by key, …), since Triton 3.2
        for caches in getattr(value, "device_caches", {}).values():
            # a kernel that was not launched has no binary loaded
            found += [k for k in caches[0].values() if getattr(k, "function", None)]
    return found


def _blocks_per_sm(kernel) -> int:
    """Return how many blocks of this kernel the driver keeps resident on one multiprocessor."""
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


def compile_only(variant: kernels.Variant, point: Point, row: dict) -> None:
    """Compile CUDA C++ for ARCHITECTURES, and end the point. Raises Ended."""
    begin = time.perf_counter()
    compiled = _compile(variant, point)
    row["compile_s"] = time.perf_counter() - begin
    one = torch.empty(1, point.N, dtype=getattr(torch, point.dtype))
    reason = variant.unsupported(one.expand(point.M, point.N)) or "it is not timed without a GPU"
    what = f"; compiled for {' and '.join(compiled)} without error" if compiled else ""
    if compiled and (beyond := sorted(set(ARCHITECTURES) - set(compiled))):
        what += f", beyond the limits of {' and '.join(beyond)}"
    raise Ended("unsupported", f"{reason}{what}")


def _compile(variant: kernels.Variant, point: Point) -> list[str]:
    """Compile what the point would launch; return the architectures for which it is possible.

    None, if the variant does not say what it would launch. Raises what the compiler raises.
    """
    from kernels.cuda import nvrtc

    if not hasattr(variant.module, "plan"):
        return []
    # no data, no memory, rows aligned as a new tensor's are
    x = torch.empty(point.M, point.N, dtype=getattr(torch, point.dtype), device="meta")
    log, plan = point.op.startswith("log_softmax"), variant.module.plan
    return [arch for arch in ARCHITECTURES if nvrtc.build_for(plan, x, log, arch)]
