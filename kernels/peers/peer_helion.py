"""Helion's kernel for torch.softmax, with static shapes.

Idea: Helion is a language of tiles over Triton. From torch.softmax of a tile of rows it writes a
Triton kernel for this shape. Its default configuration on compute capability 9.0 and 10.0 keeps a
row of up to some 34,000 elements in 4 to 32 warps. A program takes several short rows. A longer row
is read three times, in blocks of 16384. On other GPUs rows are kept up to N = 4096.
The config ``pretuned`` has the configurations that Helion keeps for its own softmax on compute
capability 9.0, found by its search in float16: a row in one block of 1, 8 or 16 warps, by N.
Bytes: 2·M·N·itemsize where a row is kept; else 4·M·N·itemsize, less what the caches serve.
Limits: NVIDIA GPUs here. Every new shape or stride is compiled. ``pretuned``: compute capability
9.0, and N up to 32768, the longest row that was tuned.
Source: Helion (pytorch/helion); the lines in its language are ours. The configurations stand in
pretuned_kernels/softmax/_helion_aot_softmax_cuda_sm90.py at 2af5b97, which the package lacks.
Use: ``pip install helion``; copy ``_softmax_into`` and ``_kernel`` of kernels/peers/peer_helion.py.
"""

import bisect
import functools
from collections.abc import Callable
from types import SimpleNamespace

import torch

from ._package import compiled_variant, optional_package
from ._package import unsupported as unsupported  # the only limit is a GPU

with optional_package():
    import helion
    import helion.language as hl

ON_REQUEST = True  # another project's kernel, from an optional package

CONFIGS = ("pretuned",)
LONGEST = 32768
# The configuration changes at each N of LIMITS: one warp first, then 8 and 16 warps by turns, as
# Helion's search found.
LIMITS = (2048, 7552, 7680, 8192, 8832, 8960, 9984, 11136, 11264, 12672)
_ROW = {"block_sizes": [1], "reduction_loops": [None]}
_ONE_WARP = _ROW | {
    "num_warps": 1,
    "num_stages": 3,
    "indexing": ["tensor_descriptor", "tensor_descriptor"],
    "load_eviction_policies": ["last"],
    "pid_type": "persistent_interleaved",
    "num_sm_multiplier": 32,
    "range_unroll_factors": [2],
    "range_num_stages": [4],
    "range_multi_buffers": [True],
    "range_flattens": [True],
}
_FLAT = _ROW | {"num_stages": 2, "load_eviction_policies": ["first"], "pid_type": "flat"}
_8_WARPS = _FLAT | {"num_warps": 8, "indexing": ["tensor_descriptor", "pointer"]}
_16_WARPS = _FLAT | {"num_warps": 16, "indexing": ["pointer", "tensor_descriptor"]}


# `y`: Helion takes `out[…] = …` for reading and writing an argument, and drops `range_num_stages`.
def _softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    y = out
    for rows in hl.tile(x.size(0)):
        y[rows, :] = torch.softmax(x[rows, :].to(torch.float32), dim=1).to(x.dtype)


def _log_softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    y = out
    for rows in hl.tile(x.size(0)):
        y[rows, :] = torch.log_softmax(x[rows, :].to(torch.float32), dim=1).to(x.dtype)


def _pretuned(cols: int) -> dict:
    """Return Helion's configuration for rows of this length."""
    place = bisect.bisect_left(LIMITS, cols)
    return (_16_WARPS if place % 2 == 0 else _8_WARPS) if place else _ONE_WARP


@functools.cache
def _kernel(into: Callable, config: str, cols: int) -> Callable:
    """Return the kernel for rows of this length, which Helion compiles for every dtype and M."""
    chosen = {"config": helion.Config(**_pretuned(cols))} if config else {"autotune_effort": "none"}
    return helion.kernel(into, static_shapes=True, **chosen)


def _unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why ``pretuned`` cannot take x."""
    if x.shape[1] > LONGEST:
        return f"N = {x.shape[1]}: Helion tuned its configurations up to N = {LONGEST}"
    if reason := unsupported(x):
        return reason
    major, minor = torch.cuda.get_device_capability(x.device)
    if (major, minor) != (9, 0):
        return f"compute capability {major}.{minor}; Helion tuned these configurations for 9.0"
    return None


def with_config(config: str) -> SimpleNamespace:
    """Return the functions of a config; see ``kernels.Variant``."""
    pretuned = compiled_variant(
        lambda into, x: _kernel(into, config, x.shape[1]), _softmax_into, _log_softmax_into
    )
    pretuned.unsupported = _unsupported if config else unsupported
    return pretuned


softmax, log_softmax = with_config("").softmax, with_config("").log_softmax
