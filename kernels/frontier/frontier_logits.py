"""Compute values of rows of logits, and gradients by these, with this project's kernels.

Idea: each logit is read once, by ``logits_forward``, which keeps a maximum and two sums of a row.
The gradient of each logit follows from these, in ``logits_backward``. Loss and gradient in one call
are a forward and a backward.
Bytes: M·N·itemsize for values; 2·M·N·itemsize for a gradient, the least possible;
3·M·N·itemsize for loss and gradient, less what the caches serve.
Limits: N up to 2^30. Compute capability 8.0.
Source: ``kernels/logits``.
"""

import functools

import torch
from torch import Tensor

from ..cuda import launch as cuda
from ..logits import launch, logits_forward
from ..logits.functions import logsumexp as logsumexp
from ..logits.functions import token_log_prob as token_log_prob
from ..logits.functions import token_log_prob_backward as token_log_prob_backward
from ..logits.functions import token_log_prob_entropy as token_log_prob_entropy
from ..tensors import empty_output

TORCHS = launch.Settings(ignore_index=-100)  # torch's default

# The limits of all operations, which one kernel has.
unsupported = cuda.functions(
    functools.partial(logits_forward.plan, operation="LogSumExp")
).unsupported


def _values(x: Tensor, count: int = 1) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(len(x), dtype=torch.float32) for _ in range(count))


def cross_entropy(x: Tensor, target: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the loss of each row of x (M, N) with its ``target`` (M,), (M,)."""
    (out,) = _values(x) if out is None else (out,)
    launch.forward("CrossEntropy", x, target, out, settings=TORCHS)
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
    dx = empty_output(x, out)
    launch.backward("CrossEntropy", x, target, dx, g, (maximum, log_sum), settings=TORCHS)
    return dx


def cross_entropy_and_gradient(
    x: Tensor, target: Tensor, g: Tensor, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the loss of each row (M,), and g · (softmax(x) - 1[n = target]), (M, N)."""
    loss, dx = out or (*_values(x), empty_output(x, None))
    sums = _values(x, 2)
    launch.forward("CrossEntropy", x, target, loss, sums=sums, settings=TORCHS)
    launch.backward("CrossEntropy", x, target, dx, g, sums, settings=TORCHS)
    return loss, dx
