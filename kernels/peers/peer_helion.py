"""Run Helion's kernel for torch.softmax, for static shapes.

Idea: Helion is a language of tiles over Triton. From torch.softmax of a tile of rows it writes a
Triton kernel for this shape. Its default configuration on compute capability 9.0 and 10.0 keeps a
row of up to some 34,000 elements in 4 to 32 warps. A program has several short rows. A longer row
is read three times, in blocks of 16384. On other GPUs rows are kept up to N = 4096.
The config ``max`` searches tiles, loops, warps and cache hints on this GPU, at the effort "quick".
Bytes: 2·M·N·itemsize where a row is kept; else 4·M·N·itemsize, less what the caches serve.
Limits: NVIDIA GPUs here. Every new shape or stride is compiled. With ``max`` the first call for a
dtype and an N searches for about a minute (42 to 80 s on an H200). Any M uses its result. Another
process may find another result, unless Helion's cache on disk has it.
Source: Helion (pytorch/helion); the lines in its language are ours. The package is optional:
``pip install --group peers``.
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace

import torch

from ._package import functions, optional_package
from ._package import unsupported as unsupported  # the only limit is a GPU

with optional_package():
    import helion
    import helion.language as hl

ON_REQUEST = True  # another project's kernel, from an optional package

CONFIGS = ("max",)
_EFFORTS = {"": "none", "max": "quick"}
# The search ends after these seconds; a point has 120 s by default.
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
    """Return the kernel for rows of this dtype and length, from the cache if it is there."""
    key = into, effort, x.dtype, x.device, x.shape[1]
    if key not in _kernels:
        kernel = functools.partial(helion.kernel, into, static_shapes=True)
        chosen = {"autotune_effort": effort}
        if effort != "none":
            # no progress bar, because the output goes to a log; force=False: Helion's cache on disk
            # may have a result
            limits = {"autotune_budget_seconds": SEARCH_S, "autotune_progress_bar": False}
            chosen = {"config": kernel(**chosen, **limits).autotune((x, out), force=False)}
        _kernels[key] = kernel(**chosen)
    return _kernels[key]


def with_config(config: str) -> SimpleNamespace:
    """Return the functions of a config; see ``kernels.Variant``."""
    return functions(
        _softmax_into,
        _log_softmax_into,
        lambda into, x, out: _kernel(into, _EFFORTS[config], x, out),
    )


softmax, log_softmax = with_config("").softmax, with_config("").log_softmax
