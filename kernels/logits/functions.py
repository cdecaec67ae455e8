"""Compute the operations on logits as a variant does; see ``operations/``.

x (M, N) is on the current GPU, with any row stride. Indices are int64, and values of rows float32.
"""

import torch
from torch import Tensor

from ..cuda.launch import launches
from ..tensors import empty_output, new_row_values
from . import RowOptions, RowTensors, launch
from .launch import backward_planner, forward_planner, fused_planner

LOSS = RowOptions("CrossEntropy", ignore_index=-100)  # torch's default


@launches(forward_planner("LogSumExp"))
def logsumexp(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Return log Σ exp(x) of each row, (M,)."""
    out = new_row_values(x) if out is None else out
    launch.forward(RowOptions("LogSumExp"), RowTensors(x), out)
    return out


@launches(forward_planner("TokenLogProb"))
def token_log_prob(x: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """Return log(softmax) of the element at ``index`` (M,) of each row, (M,)."""
    out = new_row_values(x) if out is None else out
    launch.forward(RowOptions("TokenLogProb"), RowTensors(x, index), out)
    return out


@launches(forward_planner("TokenLogProbEntropy"))
def token_log_prob_entropy(
    x: Tensor, index: Tensor, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return log(softmax) of the element at ``index`` (M,), and each row's entropy, (M,) each."""
    out = (new_row_values(x), new_row_values(x)) if out is None else out
    launch.forward(RowOptions("TokenLogProbEntropy"), RowTensors(x, index), *out)
    return out


@launches(forward_planner(LOSS.operation))
def cross_entropy(x: Tensor, target: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the loss of each row with its ``target`` (M,), (M,)."""
    out = new_row_values(x) if out is None else out
    launch.forward(LOSS, RowTensors(x, target), out)
    return out


@launches(backward_planner("TokenLogProb"))
def token_log_prob_backward(
    g: Tensor, x: Tensor, index: Tensor, maximum: Tensor, log_sum: Tensor, out: Tensor | None = None
) -> Tensor:
    """Return g · (1[n = index] - softmax(x)), (M, N), from g (M,) and what a forward saved."""
    dx = empty_output(x, out)
    launch.backward(RowOptions("TokenLogProb"), RowTensors(x, index), dx, g, maximum, log_sum)
    return dx


@launches(backward_planner(LOSS.operation))
def cross_entropy_backward(
    g: Tensor,
    x: Tensor,
    target: Tensor,
    maximum: Tensor,
    log_sum: Tensor,
    out: Tensor | None = None,
) -> Tensor:
    """Return g · (softmax(x) - 1[n = target]), (M, N), from g (M,) and what a forward saved."""
    dx = empty_output(x, out)
    launch.backward(LOSS, RowTensors(x, target), dx, g, maximum, log_sum)
    return dx


@launches(
    fused_planner(LOSS.operation),
    forward_planner(LOSS.operation),
    backward_planner(LOSS.operation),
)
def cross_entropy_and_gradient(
    x: Tensor, target: Tensor, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the loss of each row (M,), and softmax(x) - 1[n = target], (M, N)."""
    loss, dx = out or (new_row_values(x), empty_output(x, None))
    tensors = RowTensors(x, target)
    if launch.fits_in_registers(LOSS.operation, x.dtype, x.shape[1], x.get_device()):
        launch.forward_and_backward(LOSS, tensors, loss, dx)
        return loss, dx
    sums = x.new_empty((2, len(x)), dtype=torch.float32)
    launch.forward(LOSS, tensors, loss, sums=sums)
    launch.backward(LOSS, tensors, dx, None, sums)
    return loss, dx
