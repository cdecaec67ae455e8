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


# Seconds after which a search begins nothing new. With them the first call took 42 to 80 s on an
# H200, of the 120 s that a point has by default.
SEARCH_S = 40

_INTO = {"softmax": _softmax_into, "log_softmax": _log_softmax_into}


def run(op: str, effort: str, x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """``op`` of x (M, N) as Helion makes it with this effort of search; ``out``, or a new tensor.

    The first call for a shape, strides and a dtype compiles; where data lie does not matter. The
    first call for a dtype and an N searches, and all others with these take what it found.
    """
    out = result_for(x, out)
    config = None if effort == "none" else _best(op, effort, x, out)
    _kernel(op, config)(x, out)
    return out


_found: dict[tuple, "helion.Config"] = {}


def _best(op: str, effort: str, x: torch.Tensor, out: torch.Tensor) -> "helion.Config":
    wanted = op, effort, x.dtype, x.device, x.shape[1]
    if wanted not in _found:
        searching = helion.kernel(
            _INTO[op],
            static_shapes=True,
            autotune_effort=effort,
            autotune_budget_seconds=SEARCH_S,
            autotune_progress_bar=False,  # what a worker says goes to a log
        )
        # not forced: what Helion's cache on disk holds is taken
        _found[wanted] = searching.autotune((x, out), force=False)
    return _found[wanted]


@functools.cache
def _kernel(op: str, config: "helion.Config | None") -> Callable:
    """The kernel with this configuration, or with Helion's default."""
    chosen = {"autotune_effort": "none"} if config is None else {"config": config}
    return helion.kernel(_INTO[op], static_shapes=True, **chosen)
