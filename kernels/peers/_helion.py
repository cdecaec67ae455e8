"""Softmax in Helion's language, for one shape at a time, written straight into ``out``.

Helion writes a Triton kernel from this for just the shape, strides and dtype that it is called
with; how a row is divided, and over how many warps, is its choice.
"""

from collections.abc import Callable

import torch

from ..tensors import empty_output
from ._package import optional_package

with optional_package():
    import helion
    import helion.language as hl


def _softmax_into(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.softmax(x[rows, :].to(torch.float32), dim=1).to(out.dtype)
    return out


def _log_softmax_into(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.log_softmax(x[rows, :].to(torch.float32), dim=1).to(out.dtype)
    return out


# Seconds after which a search begins nothing new. With them the first call took 42 to 80 s on an
# H200, of the 120 s that a point has by default.
SEARCH_S = 40

_INTO = {"softmax": _softmax_into, "log_softmax": _log_softmax_into}


def run(op: str, effort: str, x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """``op`` of x (M, N) as Helion makes it with this effort of search; ``out``, or a new tensor.

    The first call for a shape, strides and a dtype compiles; where data lie does not matter. The
    first call for a dtype and an N searches, and all others with these take what it found.
    """
    out = empty_output(x, out)
    _kernel(op, effort, x, out)(x, out)
    return out


_kernels: dict[tuple, Callable] = {}


def _kernel(op: str, effort: str, x: torch.Tensor, out: torch.Tensor) -> Callable:
    """The kernel for rows of this dtype and length, which is kept."""
    wanted = op, effort, x.dtype, x.device, x.shape[1]
    if wanted not in _kernels:
        _kernels[wanted] = _made(op, **_choice(op, effort, x, out))
    return _kernels[wanted]


def _choice(op: str, effort: str, x: torch.Tensor, out: torch.Tensor) -> dict:
    """The setting by which a kernel runs in Helion's default configuration, or the best found."""
    if effort == "none":
        return {"autotune_effort": effort}
    searching = _made(
        op,
        autotune_effort=effort,
        autotune_budget_seconds=SEARCH_S,
        autotune_progress_bar=False,  # what a worker says goes to a log
    )
    # not forced: what Helion's cache on disk holds is taken
    return {"config": searching.autotune((x, out), force=False)}


def _made(op: str, **settings) -> Callable:
    return helion.kernel(_INTO[op], static_shapes=True, **settings)
