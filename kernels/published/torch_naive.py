"""Softmax in five eager operations: row max, subtract, exp, row sum, divide.

Bytes: reads 5MN + 2M elements, writes 3MN + 2M. 16-bit input is first widened to float32, which
adds a pass.
Source: the "naive" baseline of the Triton tutorial "Fused Softmax", as used in notes on it
(Jan 2026) and in Nagi-ovo, "Softmax in OpenAI Triton" (Sep 2024).

Performance explained in: docs/explanation/why_kernels_differ.md#bytes-moved
"""

import torch

from ..tensors import empty_output


def softmax_in_five(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Write the row softmax of x (M, N), computed in float32, to ``out``. Return ``out``."""
    wide = x.to(torch.float32)
    row_max = torch.amax(wide, dim=1, keepdim=True)
    shifted = wide - row_max
    numerator = torch.exp(shifted)
    denominator = torch.sum(numerator, dim=1, keepdim=True)
    return torch.div(numerator, denominator, out=out)


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the row softmax of x (M, N); see ``kernels.Variant``."""
    return softmax_in_five(x, empty_output(x, out))
