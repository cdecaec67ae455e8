"""QuACK's cross-entropy with ``return_dx``: loss and gradient in one pass over each row.

Idea: as ``peer_quack_logits``, but the kernel writes p - 1[n = target] while the row is in shared
memory.
Bytes: 2·M·N·itemsize, the least possible.
Limits: as ``peer_quack_logits``.
Source: QuACK (Dao-AILab/quack), quack/cross_entropy.py.
Use: ``pip install 'quack-kernels[cu13]'``; ``from quack.cross_entropy import cross_entropy_fwd``;
``loss, dx = cross_entropy_fwd(x, target, return_dx=True)``.
"""

from torch import Tensor

from ..tensors import empty_output, new_row_values
from .peer_quack_logits import forward
from .peer_quack_logits import unsupported as unsupported  # the limits are the same

ON_REQUEST = True  # another project's kernel, from an optional package


def cross_entropy_and_gradient(
    x: Tensor, target: Tensor, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the loss of each row (M,), and softmax(x) - 1[n = target], (M, N)."""
    loss, dx = out = out or (new_row_values(x), empty_output(x, None))
    forward(x, target, loss, dx=dx)
    return out
