"""FlagGems' softmax: a Triton program per row; the row in one block, or walked over twice.

Idea: to N = 32768 a row is one block of the next power of two, with up to 16 warps. A longer one is
walked over in blocks of 4096: each place of the block keeps a maximum and a sum of its own, which
are joined at the end; the second walk goes backwards, as a cache has the row's end.
Bytes: 2·M·N·itemsize to N = 32768; beyond it half as much again, less what caches keep.
Limits: fewer than 2^31 elements, for the kernel counts them in 32 bits. NVIDIA GPUs here. It takes
rows that touch; its own function makes x contiguous and returns a new tensor. This calls its kernel
with its own rules for blocks and warps, on x and out as they lie where their rows touch, else on
copies; and not through its own launcher (LibEntry), which does not know Triton from 3.7 on.
Source: FlagGems (flagos-ai/FlagGems), flag_gems/ops/softmax.py; the package is optional, and must
come without what it pins itself, other versions of numpy and others than those here:
``pip install --no-deps --group flaggems``.
"""

import torch

from ..tensors import empty_output
from . import _package

ON_REQUEST = True  # another project's, and its package may not be here

with _package.optional_package("--no-deps --group flaggems"):
    from flag_gems.ops.softmax import softmax_kernel_inner

_ruled = softmax_kernel_inner.fn  # what picks the block and the warps
_kernel = _ruled.fn  # the kernel by itself, in this module, where rows find its registers

MOST = 2**31  # elements


def unsupported(x: torch.Tensor) -> str | None:
    """None, or why FlagGems cannot take this."""
    rows, cols = x.shape
    if rows * cols >= MOST:
        return f"{rows} x {cols} elements: FlagGems' kernel counts them in 32 bits, below {MOST}"
    return _package.unsupported(x)


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    out = empty_output(x, out)
    rows, cols = x.shape
    y = out if out.is_contiguous() else empty_output(out, None)
    _ruled[(rows, 1, 1)](y, x.contiguous(), rows, cols)
    return out if y is out else out.copy_(y)
