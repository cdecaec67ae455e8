"""Call torch's own rms_norm, the baseline of this operation."""

import torch
from rms_norm import EPS


def rms_norm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor | None = None):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, EPS)
    return y if out is None else out.copy_(y)
