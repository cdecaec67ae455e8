"""The error that arithmetic may make before its result is rounded to a 16-bit dtype."""

import torch


def lost_before_rounding(dtype: torch.dtype) -> float:
    """Return a relative error that is negligible beside the rounding to ``dtype``.

    It is a 32nd of the round-off. So a result is off by at most 0.53 of the distance between two
    adjacent numbers, where 0.5 is the minimum. Without this allowance, kernels that add a long row
    in another order would fail at the few elements that lie almost halfway between two numbers.
    """
    return torch.finfo(dtype).eps / 64
