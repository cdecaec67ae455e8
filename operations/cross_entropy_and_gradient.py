"""cross_entropy_and_gradient: each row's loss, and its gradient p - 1[n = target], in one call.

A training step needs this if the gradient with respect to each loss is known before the losses are,
as it is for their sum. A row with the target -100 has loss and gradient 0.
"""

import torch
from torch.nn import functional

from . import Exact, Operation, _logits
from .cross_entropy_backward import loss_gradient


def make(x: torch.Tensor, target: torch.Tensor, draw) -> tuple[torch.Tensor, ...]:
    return x, target


def exact(x: torch.Tensor, target: torch.Tensor, dtype: torch.dtype) -> tuple[Exact, Exact]:
    maximum = x.amax(dim=1)
    log_sum = torch.logsumexp(x - maximum[:, None], dim=1)
    dx = _logits.exact_loss_gradient(x.new_ones(len(x)), x, target, maximum, log_sum, dtype)
    return _logits.exact_loss(x, target), dx


def baseline(x, target, out: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Call the functions that the forward and the backward of torch's cross_entropy call."""
    log_p = torch.log_softmax(x, dim=1, dtype=torch.float32)
    out[0].copy_(functional.nll_loss(log_p, target, reduction="none"))
    loss_gradient(log_p.new_ones(len(x)), log_p, target, out[1])


OPERATION = Operation(
    inputs=(_logits.X, _logits.TARGET),
    outputs=(_logits.value("loss"), _logits.DX),
    inputs_of=_logits.inputs_from(make, _logits.TARGET),
    special_rows=_logits.special_rows(make, _logits.TARGET),
    exact=exact,
    baseline=baseline,
    baseline_variant="torch_logits",
    baseline_float32_matrices=3,  # log p, and the gradients with respect to it and to x
    aten=(
        *("log_softmax.int", "_log_softmax", "nll_loss_forward", "nll_loss_backward"),
        *("_log_softmax_backward_data", "_log_softmax_backward_data.out"),
    ),
    watched=(
        *("torch.log_softmax", "torch.nn.functional.nll_loss", "torch.Tensor.gather"),
        "torch._log_softmax_backward_data",
    ),
)
