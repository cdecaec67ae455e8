"""Liger-Kernel's softmax in Triton: one program per row, with the whole row in one block.

Idea: as ``triton_row``, with another rule for warps (up to 32) and with cache hints: caches keep
loads and evict stores first.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 65536, Liger's largest block; its loop over blocks is never reached. NVIDIA GPUs
here. Liger's own function makes x contiguous and returns a new tensor. This variant calls the
kernel with the same settings, but on x and out with any row stride.
Source: Liger-Kernel (linkedin/Liger-Kernel), liger_kernel/ops/softmax.py.
Use: ``pip install liger-kernel``; ``from liger_kernel.transformers.functional import
liger_softmax``.
"""

import torch

from . import _package

ON_REQUEST = True  # another project's kernel, from an optional package

# peft, whose absence Liger allows for, imports transformers, which takes 10 s.
with _package.optional_package(), _package.without("peft"):
    # torch's compiler, which they import, would take 4 s
    _package.skip_init("liger_kernel", "liger_kernel.ops")
    # a global of this module, because rows read the kernel's registers and spills from there
    from liger_kernel.ops.softmax import _softmax_single_block_forward_kernel
    from liger_kernel.ops.utils import calculate_settings

MAX_COLS = 65536  # MAX_FUSED_SIZE in liger_kernel/ops/utils.py


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why Liger cannot take x."""
    cols = x.shape[1]
    if cols > MAX_COLS:
        return f"N = {cols}: a row is one block, and Liger's largest block is {MAX_COLS}"
    return _package.unsupported(x)


def _softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, cols = x.shape
    block, warps = calculate_settings(cols)
    _softmax_single_block_forward_kernel[(rows,)](
        out, out.stride(0), x, x.stride(0), cols, BLOCK_SIZE=block, num_warps=warps
    )


softmax = _package.as_variant(_softmax_into)
