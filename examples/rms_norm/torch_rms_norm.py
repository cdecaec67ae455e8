"""Call torch's own rms_norm, the baseline of this operation."""

import torch
from rms_norm import EPS, baseline


def rms_norm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor | None = None):
    if out is None:
        return torch.nn.functional.rms_norm(x, weight.shape, weight, EPS)
    baseline(x, weight, out)
    return out
