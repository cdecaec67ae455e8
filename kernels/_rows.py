"""What every variant asks of its input, said once."""

import torch

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def problem(x: torch.Tensor) -> str | None:
    """None, or one sentence saying why no variant takes ``x``."""
    if x.dim() != 2:
        return f"x has {x.dim()} dimensions; a matrix (M, N) is needed"
    if x.dtype not in DTYPES:
        return f"x is {x.dtype}; float32, float16 and bfloat16 are supported"
    if x.numel() == 0:
        return f"x has no elements (shape {tuple(x.shape)})"
    if x.stride(1) != 1 and x.shape[1] > 1:
        return f"x has column stride {x.stride(1)}; the elements of a row must be adjacent"
    return None


def result_for(x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """``out``, or a new contiguous tensor of x's shape, dtype and device."""
    if out is not None:
        return out
    # naming shape, type and device takes the host twice as long
    return torch.empty_like(x, memory_format=torch.contiguous_format)
