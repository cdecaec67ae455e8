"""Launch a Triton kernel with a program for each row."""

import torch

from ..tensors import empty_output

ARTICLE_WARPS = 32  # The article by Mizuno-Ai and wu-kan has them for every N and tile.


def launch(kernel, x: torch.Tensor, out: torch.Tensor | None = None, **settings) -> torch.Tensor:
    """Return what the kernel computes from the rows of x (M, N); see ``kernels.Variant``.

    ``settings``: the kernel's compile-time constants, and ``num_warps``.
    """
    out = empty_output(x, out)
    kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1], **settings)
    return out
