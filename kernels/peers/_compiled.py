"""torch.compile for one shape at a time, written straight into ``out``.

Inductor fuses ``out.copy_(…)`` into the store of its last kernel: one kernel loads from x and
stores to out, whatever the row stride of either, and nothing is copied.
"""

import functools
from collections.abc import Callable

import torch

from ..tensors import empty_output


def _softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(torch.softmax(x, dim=-1))


def _log_softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(torch.log_softmax(x, dim=-1))


_INTO = {"softmax": _softmax_into, "log_softmax": _log_softmax_into}


def run(op: str, mode: str, x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """``op`` of x (M, N) as torch.compile's ``mode`` makes it; ``out``, or a new tensor.

    The first call for a shape, strides and a dtype compiles; where data lie does not matter.
    """
    out = empty_output(x, out)
    _compiled(op, mode)(x, out)
    return out


@functools.cache
def _compiled(op: str, mode: str) -> Callable:
    from torch._inductor import config  # here: only who runs it waits for this import

    # Else it starts a process for every core, which would run on beside the timing.
    config.compile_threads = 1
    # fullgraph: with more layouts than torch compiles (8) an error, not eager kernels in silence
    return torch.compile(_INTO[op], mode=mode, dynamic=False, fullgraph=True)
