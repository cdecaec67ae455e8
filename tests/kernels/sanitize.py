"""``compute-sanitizer --tool memcheck python sanitize.py``: the CUDA C++ kernels on odd shapes.

Inputs come from the host and outputs go back to it, so that no kernel but the project's is looked
at. Prints how many results were right.
"""

import torch

import kernels
from measure.check import tolerance
from tests.kernels.variants import CUDA, takes

# Around powers of two, a pack and a warp; primes; beyond a block; beyond 48 KiB of shared memory
SHORT = [1, 2, 3, 5, 17, 31, 32, 33, 63, 66, 100, 127, 129, 257, 511, 781, 1000, 1001, 1023, 1024]
LONG = [1025, 1026, 4099, 12_291, 50_001]
BEYOND_SHARED = [60_001]
ODD_ROWS = (1, 5, 6)


def shapes(name: str):
    """(rows, first column, columns, dtype) of every matrix that a variant is given."""
    for cols in SHORT + LONG + BEYOND_SHARED:
        if not takes(name, cols) or (name == "cuda_oneflow_smem" and cols in BEYOND_SHARED):
            continue
        for rows in ODD_ROWS if cols < 200 else ODD_ROWS[1:2]:
            yield rows, 0, cols, torch.float32
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for start, cols in ((0, 100), (1, 101), (2, 102), (4, 1020)):  # packs of 4, 1, 2, 4
            yield 6, start, cols, dtype


def right(name: str, op: str, rows: int, start: int, cols: int, dtype: torch.dtype) -> bool:
    """Run on tensors of exactly this size, so that a step beyond them is a step out of bounds."""
    x = torch.randn(rows, start + cols).to(dtype)
    out = torch.full_like(x, float("nan"))
    x_gpu, out_gpu = x.cuda(), out.cuda()
    kernels.load(name).function(op)(x_gpu[:, start:], out_gpu[:, start:])
    y = out_gpu.cpu()
    untouched = y[:, :start].isnan().all()
    return (
        bool(untouched) and tolerance.check_rows(y[:, start:], (x[:, start:],), op).problem is None
    )


def main() -> None:
    """All variants, both operations."""
    torch.manual_seed(0)
    results = [
        right(name, op, *shape)
        for name in CUDA
        for op in ("softmax", "log_softmax")
        if op == "softmax" or kernels.load(name).log_softmax
        for shape in shapes(name)
    ]
    print(f"{sum(results)} of {len(results)} right")
    raise SystemExit(not all(results))


if __name__ == "__main__":
    main()
