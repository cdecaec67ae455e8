"""Rows with infinities and NaN, forward and backward, which the tests of all kernels share."""

import torch

from measure import inputs

INF, NAN = torch.inf, torch.nan
HAS_NONE = slice(0, 3)  # rows of ``special_rows`` without a softmax
ONE_FINITE = ((3, -1), (7, 0))  # its rows with one finite value each, and where


def special_rows(count: int, cols: int, *inner: int, device=None) -> torch.Tensor:
    """Return float32 (count, cols, …), at most 8 rows, each with another special value."""
    x = torch.randn(8, cols, *inner, device=device)
    x[0] = -INF
    x[1, cols // 2] = INF
    x[2, cols - 1] = NAN
    x[3, : cols - 1] = -INF
    x[4, ::2] = -INF
    x[5, cols // 2 :] = -INF
    x[6] = torch.linspace(-3e38, 3e38, cols).view(-1, *(1 for _ in inner))
    x[7, 1:] = -INF
    return x[:count].contiguous()


def special_gradients(op: str, cols: int, device: torch.device) -> torch.Tensor:
    """Return g and y, float32 (2, 5, cols): inf in g, NaN in g, NaN in y, a p of 1, random."""
    g, y = inputs.draw_for(op, "normal", torch.float32, 5, cols, 2, device)
    g[0, cols // 2] = INF
    g[1, cols - 1] = NAN
    y[2] = NAN
    y[3, : cols - 1] = 0 if op == "softmax_backward" else -INF
    y[3, cols - 1] = 1 if op == "softmax_backward" else 0
    return torch.stack((g, y))
