"""FlagGems' softmax in Triton: one program per row, which reads it once if it fits, or twice.

Idea: up to N = 32768 a row is one block of the next power of two, with up to 16 warps. A longer row
is read in blocks of 4096: each lane keeps a maximum and a sum, which are merged at the end. The
second pass goes backwards, because the caches hold the row's end.
Bytes: 2·M·N·itemsize up to N = 32768; longer rows 3·M·N·itemsize, less what the caches serve.
Limits: fewer than 2^31 elements, which the kernel counts in 32 bits. NVIDIA GPUs here. The kernel
needs contiguous rows; FlagGems' own function copies x and returns a new tensor. This variant calls
the kernel with FlagGems' rules for blocks and warps, and copies only non-contiguous x or out. It
bypasses FlagGems' launcher (LibEntry), which fails with Triton 3.7 and newer.
Source: FlagGems (flagos-ai/FlagGems), flag_gems/ops/softmax.py. The package pins other
versions than this project.
Use: ``pip install flag-gems``; ``from flag_gems.ops.softmax import softmax``; ``softmax(x, -1)``.
"""

import torch

from . import _package

ON_REQUEST = True  # another project's kernel, from an optional package

with _package.optional_package():
    from flag_gems.ops.softmax import softmax_kernel_inner

_heuristics = softmax_kernel_inner.fn  # picks the block and the warps
_kernel = _heuristics.fn  # a global of this module, because rows read its registers from there

MAX_ELEMENTS = 2**31


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why FlagGems cannot take x."""
    rows, cols = x.shape
    if rows * cols >= MAX_ELEMENTS:
        return f"{rows} x {cols} elements: FlagGems' kernel counts fewer than 2^31"
    return _package.unsupported(x)


def _softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, cols = x.shape
    _heuristics[(rows, 1, 1)](out, x, rows, cols)


softmax = _package.as_variant(_softmax_into, contiguous=True)
