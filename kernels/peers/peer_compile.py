"""What torch.compile makes of torch.softmax, for static shapes.

Idea: Inductor writes a Triton kernel for just this M and N. To N = 1024 a block holds the row; a
longer one is walked over twice, online softmax first, and where rows are few and long it is split
over blocks by two more kernels before the one that writes.
Bytes: 2·M·N·itemsize to N = 1024; beyond it half as much again, less what caches keep.
Limits: NVIDIA GPUs, for on a CPU it would be another kernel, in C++; a call with a new shape or
new strides compiles, at most eight in a process.
Source: PyTorch's own compiler, in its default mode.
"""

import torch

from . import _compiled
from ._package import unsupported as unsupported  # a GPU is all that is asked for

ON_REQUEST = True  # another project's, and its package may not be here

MODE = "default"


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    return _compiled.run("softmax", MODE, x, out)


def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row log-softmax of x (M, N); see ``kernels.Variant``."""
    return _compiled.run("log_softmax", MODE, x, out)
