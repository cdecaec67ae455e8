"""FlashInfer's softmax of logits, which splits long rows over many blocks if there are few.

Idea: up to 128 rows of N >= 24576 are cut into slices of up to 8192. A block per slice reduces it
to a maximum and a sum in a workspace. A second kernel has one block per row, which merges these and
reads the row again. Any other row has one block, which reads it twice. In small batches, shared
memory keeps rows of up to 4096. From compute capability 9.0 on, kernels are launched before the
last one has ended (programmatic dependent launch), as FlashInfer does by default.
Bytes: 3·M·N·itemsize, less what the caches serve.
Limits: float32, because FlashInfer converts other logits and returns float32 probabilities. x
begins at a multiple of the bytes that a thread loads, up to 16. Indices have 32 bits, and the
workspace has 1 MiB. NVIDIA GPUs here. FlashInfer's own function copies non-contiguous logits and
returns a new tensor. This variant calls the compiled function beneath it, and copies only
non-contiguous x or out. The first use compiles with nvcc, and FlashInfer keeps the result on disk.
Source: FlashInfer (flashinfer-ai/flashinfer), flashinfer/sampling.py and
include/flashinfer/sampling.cuh. Its softmax needs few of the package's dependencies.
Use: ``pip install flashinfer-python``; ``from flashinfer.sampling import softmax``.
"""

import functools
import math

import torch

from . import _package

ON_REQUEST = True  # another project's kernel, from an optional package

with _package.optional_package():
    # all of FlashInfer would import a dozen packages, for 5 s
    _package.skip_init("flashinfer", "flashinfer.jit")
    from flashinfer.jit import cpp_ext
    from flashinfer.jit.sampling import gen_sampling_module

MAX_ELEMENTS = 2**32
WORKSPACE_BYTES = 2**20  # The size that flashinfer/sampling.py takes.
# From OnlineSoftmax in sampling.cuh: these rows are split, and a slice has a pair of floats.
MAX_SPLIT_ROWS, MIN_SPLIT_COLS, SLICE_COLS, SLICE_BYTES = 128, 24576, 8192, 8


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why FlashInfer cannot take x."""
    rows, cols = x.shape
    if x.dtype != torch.float32:
        return f"{x.dtype}: FlashInfer returns probabilities in float32 only"
    if rows * cols >= MAX_ELEMENTS:
        return f"{rows} x {cols} elements: FlashInfer's kernels count fewer than 2^32"
    # More rows are not split, and the first may be asked for.
    slices = min(rows, MAX_SPLIT_ROWS) * math.ceil(cols / SLICE_COLS)
    if cols >= MIN_SPLIT_COLS and slices * SLICE_BYTES > WORKSPACE_BYTES:
        return f"{rows} x {cols} elements: their slices do not fit FlashInfer's workspace of 1 MiB"
    load = x.element_size() * math.gcd(4, cols)
    if x.is_contiguous() and x.data_ptr() % load:
        return f"x does not begin at a multiple of {load} bytes, which a thread loads at once"
    return _package.unsupported(x)


@functools.cache
def _compiled(device: torch.device) -> tuple:
    """Return the compiled module, the workspace, and whether kernels are launched early.

    Raises ImportError without a CUDA toolkit.
    """
    with _package.cuda_toolkit():
        cpp_ext.get_cuda_path()
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device)
    early = torch.cuda.get_device_capability(device) >= (9, 0)
    return gen_sampling_module().build_and_load(), workspace, early


def _softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    module, workspace, early = _compiled(x.device)
    no_temperatures, temperature = None, 1.0
    module.softmax(workspace, x, out, no_temperatures, temperature, early)


softmax = _package.as_variant(_softmax_into, contiguous=True)
