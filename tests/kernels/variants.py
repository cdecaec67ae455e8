"""The variants as test parameters, their longest rows, and the check of what they return."""

import pytest
import torch

import kernels
from kernels.cuda.nvrtc import GPUS, Call, Gpu, widest_pack
from measure.check import correctness

ONEFLOW = ["cuda_oneflow", *(f"cuda_oneflow_{kind}" for kind in ("warp", "smem", "uncached"))]
FASTERTRANSFORMER = ["cuda_fastertransformer", *(f"cuda_fastertransformer_v{i}" for i in (1, 2))]
CUDA = ONEFLOW + FASTERTRANSFORMER
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
FRONTIER = [name for name in kernels.names() if name.startswith("frontier")]

# Kernels of other projects. They have limits of their own, and each of them its own tests in
# test_peers.py; those of all variants' numbers are for the kernels that are written here.
PEERS = [name for name in kernels.names() if name.startswith("peer_")]
OURS = [name for name in kernels.names("softmax") if name not in PEERS and name not in FRONTIER]
OURS += ["frontier"]  # test_emulated.py and test_frontier_gpu.py test its parts in every config

# How far 1 may be off where only one element counts: FasterTransformer adds 1e-6 to every sum.
OFF_ONE = dict.fromkeys(FASTERTRANSFORMER, 1.2e-6)

# From the variants' descriptions; a test holds what they say themselves against it.
LONGEST = dict.fromkeys(["cuda_oneflow_warp", *FASTERTRANSFORMER], 1024)


def parameters(names) -> list:
    """Names as parameters; CUDA C++ runs on a GPU only."""
    return [
        pytest.param(name, marks=pytest.mark.gpu if "cuda" in kernels.packages(name) else ())
        for name in names
    ]


def takes(name: str, cols: int) -> bool:
    """Whether a variant's algorithm can hold rows of this length."""
    return cols <= LONGEST.get(name, cols)


def config_takes(name: str, cols: int, dtype: torch.dtype, gpu: Gpu = GPUS["sm_90"]) -> bool:
    """Return whether a config of the frontier takes rows of this length, on an H200 by default."""
    stem, config = kernels.split(name)
    pack = widest_pack(dtype.itemsize, 0, cols)
    call = Call(dtype, 7, cols, pack, log=False, gpu=gpu)
    return bool(kernels.load(stem).module.plan(call, config))


def loaded(name: str) -> kernels.Variant:
    """The variant; skips the test, and says why, where a peer's package is not installed."""
    try:
        return kernels.load(name)
    except ImportError as error:
        if name not in PEERS:
            raise
        pytest.skip(f"{name}: {error}")


def run(name: str, x: torch.Tensor, out=None, op: str = "softmax") -> torch.Tensor:
    """Return what a variant, which must take x, returns."""
    variant = kernels.load(name)
    reason = variant.unsupported(x)
    assert reason is None, reason
    return variant.function(op)(x, out)


def assert_right(y: torch.Tensor, x: torch.Tensor, op: str = "softmax", out=None) -> None:
    """Assert that y is ``op`` of the rows of x in float64, and ``out`` if one is given."""
    truncates = y.dtype == torch.bfloat16 and y.device.type == "cpu"  # Triton's interpreter
    found = correctness.check_rows(y, (x,), op, truncates)
    problem = correctness.check_result(y, x, out) or found.problem
    assert problem is None, (tuple(x.shape), x.stride(), problem)
