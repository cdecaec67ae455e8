"""``peer_compile`` with max-autotune: more tiles and warps tried on this GPU, the fastest kept.

Idea: the same Triton kernel; its block sizes and warps are searched at the first call, then
improved one by one (coordinate descent).
Bytes: as ``peer_compile``.
Limits: as ``peer_compile``; the first call takes seconds, and its search, by times, need not end
the same in the next process, unless Inductor's cache on disk still holds it.
Source: PyTorch's own compiler, in its mode max-autotune-no-cudagraphs: it is timed in CUDA graphs
as every variant is, so it records none itself.
"""

import torch

from . import _compiled
from ._package import unsupported as unsupported  # a GPU is all that is asked for

ON_REQUEST = True  # another project's, and its package may not be here

MODE = "max-autotune-no-cudagraphs"


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    return _compiled.run("softmax", MODE, x, out)


def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row log-softmax of x (M, N); see ``kernels.Variant``."""
    return _compiled.run("log_softmax", MODE, x, out)
