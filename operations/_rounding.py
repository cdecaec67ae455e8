"""What arithmetic may lose before its result is rounded to a 16-bit dtype."""

import torch


def lost_before_rounding(dtype: torch.dtype) -> float:
    """Return a relative error that the rounding to ``dtype`` makes negligible.

    It is a 32nd of the round-off, so a result is off by at most 0.53 of the distance between two
    numbers, where 0.5 is the least possible. Without it, kernels that add a long row in other
    orders fail at the few elements that lie this near to the middle between two numbers.
    """
    return torch.finfo(dtype).eps / 64
