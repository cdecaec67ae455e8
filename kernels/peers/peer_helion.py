"""What Helion makes of torch.softmax, for static shapes, with the choices it makes unsearched.

Idea: Helion, a language of tiles over Triton, is given the rows and torch.softmax of each. Its
default configuration, on compute capability 9.0 and 10.0: to some 34,000 elements a row is held
whole, by 4 to 32 warps, short ones several to a program; a longer one is walked over three times,
in blocks of 16384: maximum, sum, result. On other GPUs a row is held to N = 4096.
Bytes: 2·M·N·itemsize where a row is held; else twice as much, less what caches keep.
Limits: NVIDIA GPUs here; a call with a new shape or new strides compiles.
Source: Helion (pytorch/helion); the lines of its language are ours, in _helion.py. The
package is optional: ``pip install --group peers``.
"""

import torch

from ._helion import run
from ._package import unsupported as unsupported  # a GPU is all that is asked for

ON_REQUEST = True  # another project's, and its package may not be here

EFFORT = "none"


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    return run("softmax", EFFORT, x, out)


def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row log-softmax of x (M, N); see ``kernels.Variant``."""
    return run("log_softmax", EFFORT, x, out)
