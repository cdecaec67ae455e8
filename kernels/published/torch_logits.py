"""torch's own functions on logits, the baseline of these operations.

Idea: these are the calls of trainers and losses. The gradients are those of torch.autograd,
but for log p: torch would have saved it, and here it is recomputed from what our forward saved.
Bytes: bfloat16 is first widened to float32, in another pass. log p of all logits is written,
and read again for the entropy and for gradients; logsumexp makes five passes over a temporary
matrix.
Source: PyTorch's own operators.
"""

import torch
from torch import Tensor
from torch.nn import functional

IGNORE_INDEX, NO_REDUCTION = -100, 0  # torch's default, and its number for reduction="none"


def _log_softmax(x: Tensor) -> Tensor:
    return torch.log_softmax(x, dim=-1, dtype=torch.float32)


def _returned(values: Tensor, out: Tensor | None) -> Tensor:
    return values if out is None else out.copy_(values)


def logsumexp(x: Tensor, out: Tensor | None = None) -> Tensor:
    """Return log Σ exp(x) of each row of x (M, N), (M,); see ``kernels.Variant``."""
    return torch.logsumexp(x.float(), dim=-1, out=out)


def token_log_prob(x: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """Return log(softmax) of the element at ``index`` (M,) of each row, (M,)."""
    return _returned(_log_softmax(x).gather(1, index[:, None])[:, 0], out)


def token_log_prob_entropy(
    x: Tensor, index: Tensor, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return log(softmax) of the element at ``index`` (M,), and each row's entropy, (M,) each."""
    log_p, (log_prob, entropy) = _log_softmax(x), out or (None, None)
    log_prob = _returned(log_p.gather(1, index[:, None])[:, 0], log_prob)
    return log_prob, torch.sum(torch.special.entr(log_p.exp_()), dim=1, out=entropy)


def cross_entropy(x: Tensor, target: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the loss of each row with its ``target`` (M,), (M,)."""
    return _returned(functional.cross_entropy(x.float(), target, reduction="none"), out)


def _gradient(grad: Tensor, log_p: Tensor, x: Tensor, out: Tensor | None) -> Tensor:
    """Return the gradient with respect to x (M, N) from that with respect to log p."""
    dx = torch._log_softmax_backward_data(grad, log_p, 1, torch.float32)
    return dx.to(x.dtype) if out is None else out.copy_(dx)


def _loss_gradient(g: Tensor, log_p: Tensor, target: Tensor) -> Tensor:
    """Return the gradient with respect to log p; a sum of weights is needed for a mean alone."""
    no_weights = None, NO_REDUCTION, IGNORE_INDEX, g.new_empty(())
    return torch.ops.aten.nll_loss_backward(g, log_p, target, *no_weights)


def token_log_prob_backward(
    g: Tensor, x: Tensor, index: Tensor, maximum: Tensor, log_sum: Tensor, out: Tensor | None = None
) -> Tensor:
    """Return g · (1[n = index] - softmax(x)), (M, N)."""
    log_p = (x - maximum[:, None]).sub_(log_sum[:, None])
    grad = torch.zeros_like(log_p).scatter_add_(1, index[:, None], g[:, None])
    return _gradient(grad, log_p, x, out)


def cross_entropy_backward(
    g: Tensor,
    x: Tensor,
    target: Tensor,
    maximum: Tensor,
    log_sum: Tensor,
    out: Tensor | None = None,
) -> Tensor:
    """Return g · (softmax(x) - 1[n = target]), (M, N)."""
    log_p = (x - maximum[:, None]).sub_(log_sum[:, None])
    return _gradient(_loss_gradient(g, log_p, target), log_p, x, out)


def cross_entropy_and_gradient(
    x: Tensor, target: Tensor, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return the loss of each row (M,), and softmax(x) - 1[n = target], (M, N)."""
    log_p, (loss, dx) = _log_softmax(x), out or (None, None)
    loss = _returned(functional.nll_loss(log_p, target, reduction="none"), loss)
    ones = log_p.new_ones(len(x))
    return loss, _gradient(_loss_gradient(ones, log_p, target), log_p, x, dx)
