"""Liger-Kernel's softmax: one Triton program per row, the whole row in one block.

Idea: as ``triton_row``, with its own rule for warps (up to 32) and cache hints: loads are kept in
every cache, stores leave first.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 65536, the largest block that Liger allows itself; its loop over blocks is never
reached. NVIDIA GPUs here. Its own function makes x contiguous and returns a new tensor; this calls
its kernel as that function does, with the same settings, but on x and out as they lie.
Source: Liger-Kernel (linkedin/Liger-Kernel), liger_kernel/ops/softmax.py; the package is optional:
``pip install --group peers``.
"""

import torch

from ..tensors import empty_output
from . import _package

ON_REQUEST = True  # another project's, and its package may not be here

with _package.optional_package():
    # the kernel by its name, in this module, where rows find its registers and spills
    from liger_kernel.ops.softmax import _softmax_single_block_forward_kernel
    from liger_kernel.ops.utils import calculate_settings

LONGEST = 65536  # MAX_FUSED_SIZE in liger_kernel/ops/utils.py


def unsupported(x: torch.Tensor) -> str | None:
    """None, or why Liger cannot take this."""
    cols = x.shape[1]
    if cols > LONGEST:
        return f"N = {cols}: a row is one block, and Liger's largest block is {LONGEST}"
    return _package.unsupported(x)


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    out = empty_output(x, out)
    rows, cols = x.shape
    block, warps = calculate_settings(cols)
    _softmax_single_block_forward_kernel[(rows,)](
        out, out.stride(0), x, x.stride(0), cols, BLOCK_SIZE=block, num_warps=warps
    )
    return out
