"""What the compiler made of a variant's CUDA C++ kernels, here and for GPUs that are not here."""

import kernels

from ..point import Point

ABSENT = ("sm_80", "sm_90")  # compiled for on a machine without a GPU: A100; H200


def uses(variant: str) -> bool:
    """Whether a variant is written in CUDA C++, as its imports tell."""
    return "cuda" in kernels.packages(variant)


def resources() -> dict:
    """The row's kernel columns, from every CUDA C++ kernel that this process has launched.

    With several kernels, the largest of each figure, and the fewest resident blocks. Empty where
    none was launched through kernels/cuda/launch.py.
    """
    from kernels.cuda import launch  # needs cuda-core

    used = [(ready, ready.kernel.attributes) for ready in launch.launched()]
    if not used:
        return {}
    return {
        "registers": max(has.num_regs for _, has in used),
        "spilled_bytes": max(has.local_size_bytes for _, has in used),
        "shared_bytes": max(r.spec.shared_bytes + has.shared_size_bytes for r, has in used),
        "num_warps": max(ready.spec.threads // 32 for ready, _ in used),
        "blocks_per_sm": min(ready.blocks_per_sm for ready, _ in used),
    }


def compile_for_absent(variant: kernels.Variant, point: Point) -> list[str]:
    """Compile what the point would launch on each of ABSENT; the names of these architectures.

    Those are left out on which the point is beyond what the algorithm can do; all are, for a
    variant that does not say what it would launch. Raises what the compiler raises.
    """
    import torch

    from kernels.cuda import nvrtc

    if not hasattr(variant.module, "plan"):
        return []

    # no data, no memory, rows aligned as a new tensor's are
    x = torch.empty(point.M, point.N, dtype=getattr(torch, point.dtype), device="meta")
    log = point.op.startswith("log_softmax")
    return [arch for arch in ABSENT if nvrtc.build_for(variant.module.plan, x, log, arch)]
