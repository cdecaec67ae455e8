"""``peer_helion`` with a search: tiles, loops, warps and hints tried on this GPU, the fastest kept.

Idea: the same lines; Helion's own search, at its effort "quick", decides how a row is divided, in
what blocks it is walked over, over how many warps, and what caches keep.
Bytes: as ``peer_helion``.
Limits: as ``peer_helion``; the first call for a dtype and an N searches for about a minute (42 to
80 s on an H200), and other numbers of rows take what it found. The search, by times, need not end
the same in the next process, unless Helion's cache on disk still holds it. At its effort "full"
Helion searches for longer and may find more.
Source: as ``peer_helion``.
"""

import torch

from ._helion import run
from ._package import unsupported as unsupported  # a GPU is all that is asked for

ON_REQUEST = True  # another project's, and its package may not be here

EFFORT = "quick"


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row softmax of x (M, N); see ``kernels.Variant``."""
    return run("softmax", EFFORT, x, out)


def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Row log-softmax of x (M, N); see ``kernels.Variant``."""
    return run("log_softmax", EFFORT, x, out)
