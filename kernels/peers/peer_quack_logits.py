"""QuACK's cross-entropy in CuTe DSL: each row in the shared memory of a block or a cluster.

Idea: as ``peer_quack``. A loss needs one pass over the row in shared memory, as maximum and sum are
reduced together. The gradient is another kernel, which reads the logits again, and whose blocks
need not meet.
Bytes: M·N·itemsize for losses; 2·M·N·itemsize for the gradient; 3·M·N·itemsize for both, less what
the caches serve.
Limits: a row is a multiple of 4 bytes, as an asynchronous copy has at least these: no odd N in 16
bits. Rows of x and dx are aligned to 16 bytes, or to the largest part of these that divides a row.
They fit in the shared memory of a cluster. NVIDIA GPUs from compute capability 8.0 on. If a
warp's part of a row has only -inf, the row becomes NaN (-inf - -inf). So does every row of a length
that leaves a warp no element: at N = 151936 in 16 bits, the last of 16 blocks begins past the end.
The gradient alone needs the log of a row's sum, which a further kernel adds up from what this
project's forward saves.
Source: QuACK (Dao-AILab/quack), quack/cross_entropy.py.
Use: ``pip install 'quack-kernels[cu13]'``; ``from quack import cross_entropy``.
"""

import math

from torch import Tensor

from ..contract import VEC_BYTES
from ..tensors import empty_output, new_row_values
from . import _package

ON_REQUEST = True  # another project's kernel, from an optional package

with _package.optional_package():
    # the other kernels import torch's compiler, for 1 s
    _package.skip_init("quack")
    from quack.cross_entropy import cross_entropy_bwd_out, cross_entropy_fwd_out

    from .peer_quack import too_long

IGNORE_INDEX = -100
COPIED_BYTES = 4  # Bytes of the smallest asynchronous copy.


def unsupported(x: Tensor) -> str | None:
    """Return None, or why QuACK cannot take x."""
    cols, size = x.shape[1], x.element_size()
    pack = math.gcd(cols, VEC_BYTES // size)  # elements that a thread loads at once
    if pack * size < COPIED_BYTES:
        return f"N = {cols}: QuACK's copies take rows that are multiples of {COPIED_BYTES} bytes"
    if x.data_ptr() % (pack * size) or (x.shape[0] > 1 and x.stride(0) % pack):
        return f"x has rows that do not begin at multiples of {pack * size} bytes"
    return _package.unsupported(x) or too_long(cols * size, x.device)


def forward(x: Tensor, target: Tensor, loss: Tensor, log_sum=None, dx=None) -> None:
    """Write the losses, and their log-sum-exps or gradients where these are given."""
    target_logit = weight = None
    cross_entropy_fwd_out(x, target, target_logit, loss, log_sum, dx, weight, IGNORE_INDEX)


def cross_entropy(x: Tensor, target: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the loss of each row with its ``target`` (M,), (M,)."""
    out = new_row_values(x) if out is None else out
    forward(x, target, out)
    return out


def cross_entropy_backward(
    g: Tensor,
    x: Tensor,
    target: Tensor,
    maximum: Tensor,
    log_sum: Tensor,
    out: Tensor | None = None,
) -> Tensor:
    """Return g · (softmax(x) - 1[n = target]), (M, N)."""
    dx, weight = empty_output(x, out), None
    cross_entropy_bwd_out(x, target, g, maximum + log_sum, dx, weight, IGNORE_INDEX)
    return dx


def cross_entropy_and_gradient(
    x: Tensor, target: Tensor, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the loss of each row (M,), and softmax(x) - 1[n = target], (M, N)."""
    loss, dx = out = out or (new_row_values(x), empty_output(x, None))
    log_sum, weight = new_row_values(x), None
    forward(x, target, loss, log_sum)
    ones = x.new_ones(len(x), dtype=loss.dtype)
    cross_entropy_bwd_out(x, target, ones, log_sum, dx, weight, IGNORE_INDEX)
    return out
