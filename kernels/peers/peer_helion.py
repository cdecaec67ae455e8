"""Helion's kernel for torch.softmax, for static shapes.

Idea: Helion, a language of tiles over Triton, is given the rows and torch.softmax of each, and
writes a Triton kernel for this shape. Its default configuration, on compute capability 9.0 and
10.0: up to some 34,000 elements a row is held whole, by 4 to 32 warps, several short ones to a
program; a longer row is read three times, in blocks of 16384. On other GPUs a row is held to
N = 4096. The config ``max`` searches, at Helion's effort "quick", for tiles, loops, warps and
cache hints on this GPU.
Bytes: 2·M·N·itemsize where a row is held; else twice as much, less what caches keep.
Limits: NVIDIA GPUs here; a new shape or new strides compile. With ``max`` the first call for a
dtype and an N searches for about a minute (42 to 80 s on an H200); other numbers of rows take its
result. Another process may end with another result, unless Helion's cache on disk holds it.
Source: Helion (pytorch/helion); the lines in its language are ours. The package is optional:
``pip install --group peers``.
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace

import torch

from ..tensors import empty_output
from ._package import optional_package
from ._package import unsupported as unsupported  # a GPU is all that is asked for

with optional_package():
    import helion
    import helion.language as hl

ON_REQUEST = True  # another project's kernel, and its package may not be here

CONFIGS = ("max",)
_EFFORTS = {"": "none", "max": "quick"}
# Seconds after which a search begins nothing new: a point has 120 s by default.
SEARCH_S = 40


def _softmax_into(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.softmax(x[rows, :].to(torch.float32), dim=1).to(out.dtype)
    return out


def _log_softmax_into(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.log_softmax(x[rows, :].to(torch.float32), dim=1).to(out.dtype)
    return out


_kernels: dict[tuple, Callable] = {}


def _kernel(into: Callable, effort: str, x: torch.Tensor, out: torch.Tensor) -> Callable:
    """Return the kernel for rows of this dtype and length; it is kept."""
    key = into, effort, x.dtype, x.device, x.shape[1]
    if key not in _kernels:
        _kernels[key] = _written(into, **_choice(into, effort, x, out))
    return _kernels[key]


def _choice(into: Callable, effort: str, x: torch.Tensor, out: torch.Tensor) -> dict:
    """Return the setting for Helion's default configuration, or for the best one found."""
    if effort == "none":
        return {"autotune_effort": effort}
    searching = _written(
        into,
        autotune_effort=effort,
        autotune_budget_seconds=SEARCH_S,
        autotune_progress_bar=False,  # a worker's output goes to a log
    )
    # not forced: a result in Helion's cache on disk is taken
    return {"config": searching.autotune((x, out), force=False)}


def _written(into: Callable, **settings) -> Callable:
    return helion.kernel(into, static_shapes=True, **settings)


def with_config(config: str) -> SimpleNamespace:
    """Return the functions of a config; see ``kernels.Variant``."""

    def run(into: Callable, x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        out = empty_output(x, out)
        _kernel(into, _EFFORTS[config], x, out)(x, out)
        return out

    return SimpleNamespace(
        softmax=functools.partial(run, _softmax_into),
        log_softmax=functools.partial(run, _log_softmax_into),
        unsupported=unsupported,
    )


softmax, log_softmax = with_config("").softmax, with_config("").log_softmax
