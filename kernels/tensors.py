"""Express the contract in torch: the dtypes, and the tensor that a call writes."""

import torch

from . import contract

DTYPES = tuple(getattr(torch, name) for name in contract.DTYPES)


def empty_output(x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """Return ``out``, or a new contiguous tensor of x's shape, dtype and device."""
    if out is not None:
        return out
    # torch.empty with shape, dtype and device takes the host twice as long
    return torch.empty_like(x, memory_format=torch.contiguous_format)
