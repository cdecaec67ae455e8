"""Softmax in Helion's language, for one shape at a time, written straight into ``out``.

Helion writes a Triton kernel from this for just the shape, strides and dtype that it is called
with; how a row is divided, and over how many warps, is its choice.
"""

import functools
from collections.abc import Callable

import torch

from ._peers import optional_package
from ._rows import result_for

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


SEARCH_S = 60  # the most that a search may take; a point is given 120 s by default

_INTO = {"softmax": _softmax_into, "log_softmax": _log_softmax_into}


def run(op: str, effort: str, x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """``op`` of x (M, N) as Helion makes it with this effort of search; ``out``, or a new tensor.

    The first call for a shape, strides and a dtype compiles; where data lie does not matter.
    """
    out = result_for(x, out)
    _kernel(op, effort)(x, out)
    return out


@functools.cache
def _kernel(op: str, effort: str) -> Callable:
    return helion.kernel(
        _INTO[op],
        static_shapes=True,
        autotune_effort=effort,
        autotune_budget_seconds=SEARCH_S,
        autotune_progress_bar=False,  # what a worker says goes to a log
    )
