"""torch.compile of torch.softmax, with static shapes.

Idea: Inductor writes a Triton kernel for this M and N. Up to N = 1024 a block holds the row. A
longer row is read twice: first for the online softmax, then for the output. Where long rows are
few, two more kernels split them over blocks. Inductor fuses ``out.copy_(…)`` into the last store.
The config ``max`` is max-autotune: its first call searches block sizes and warps on this GPU.
Bytes: 2·M·N·itemsize up to N = 1024; longer rows 3·M·N·itemsize, less what the caches serve.
Limits: NVIDIA GPUs; on a CPU Inductor writes another kernel, in C++. Every new shape or stride is
compiled, at most eight in a process. The search of ``max`` takes seconds. Another process may find
another result, unless Inductor's cache on disk has it.
Source: PyTorch's own compiler, in its modes default and max-autotune-no-cudagraphs. Every variant
is timed in CUDA graphs, so the compiled code must capture none.
Use: ``torch.compile(lambda x: torch.softmax(x, -1), dynamic=False)``; for ``max`` also
``mode="max-autotune-no-cudagraphs"``.
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace

import torch

from ._package import compiled_variant
from ._package import unsupported as unsupported  # the only limit is a GPU

ON_REQUEST = True  # another project's kernel

CONFIGS = ("max",)
_MODES = {"": "default", "max": "max-autotune-no-cudagraphs"}


def _softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(torch.softmax(x, dim=-1))


def _log_softmax_into(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(torch.log_softmax(x, dim=-1))


@functools.cache
def compiled(into: Callable, config: str) -> Callable:
    """Return a function, compiled in the mode of a config for every shape and stride."""
    from torch._inductor import config as inductor  # here, because the import is slow

    # Inductor starts by default a process for every core, which would disturb the timing.
    inductor.compile_threads = 1
    # fullgraph: more layouts than torch compiles (8) are an error, not silently eager kernels
    return torch.compile(into, mode=_MODES[config], dynamic=False, fullgraph=True)


def with_config(config: str) -> SimpleNamespace:
    """Return the functions of a config; see ``kernels.Variant``."""
    return compiled_variant(
        lambda into, x: compiled(into, config), _softmax_into, _log_softmax_into
    )


softmax, log_softmax = with_config("").softmax, with_config("").log_softmax
