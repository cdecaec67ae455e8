"""Synthetic rows of the OneFlow sweep, for a GPU whose shared memory holds 58,000 columns."""

from tests.analysis import synthetic

WARP, SMEM, UNCACHED = (f"cuda_oneflow_{name}" for name in ("warp", "smem", "uncached"))
ONEFLOW = ("cuda_oneflow", WARP, SMEM, UNCACHED)
TRANSFORMER = tuple(f"cuda_fastertransformer{end}" for end in ("", "_v1", "_v2"))
VARIANTS = ("torch_softmax", "triton_persistent", "triton_row", *ONEFLOW, *TRANSFORMER)

PROTOCOL = {s: 2048 * s for s in (16, 32, 64, 128, 512)}  # N to M
ELEMENTS = 3 * 2**25
# M·N as constant as whole rows allow: 768 divides it, 1000 and 58001 do not.
WIDE = {n: round(ELEMENTS / n) for n in (128, 768, 1000, 1024, 1025, 4096, 40000, 58000, 58001)}


def speedup(variant: str, n: int) -> float:
    """Made-up speed over torch: the warp fades towards N = 1024, shared memory towards 58,000."""
    return {
        WARP: 1.5 - 0.6 * n / 1024,
        SMEM: 1.2 if n <= 4096 else 1.2 - n / 100_000,
        UNCACHED: 0.9,
        "torch_softmax": 1.0,
        "triton_persistent": 1.3,
        "triton_row": 1.25,
    }.get(variant, 0.4)


def limit(variant: str, n: int) -> bool:
    """Whether `variant` can run N = `n` on the made-up GPU."""
    if variant == WARP or variant in TRANSFORMER:
        return n <= 1024
    return variant != SMEM or n <= 58000


def row(variant: str, n: int, m: int, half: float = 0.002, **given) -> dict[str, str]:
    """A row; that of the dispatch is as fast as the kernel it takes."""
    given = {"variant": variant, "N": n, "M": m, "distribution": "normal"} | given
    if not limit(variant, n):
        return synthetic.row(**given, status="unsupported", message="N is too large")
    kernel = WARP if n <= 1024 else SMEM if n <= 58000 else UNCACHED
    value = speedup(kernel if variant == "cuda_oneflow" else variant, n)
    return synthetic.with_speedup(value, half, **given)


def rows(shapes: dict[int, int], variants=VARIANTS, **given) -> list[dict[str, str]]:
    """A row for every variant at every N (and its M) of `shapes`."""
    return [row(variant, n, m, **given) for n, m in shapes.items() for variant in variants]
