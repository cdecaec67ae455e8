"""cross_entropy_backward: the gradient g · (p - 1[n = target]) with respect to x.

p = exp(x - maximum - log_sum), where the forward has saved each row's maximum and its
log_sum = log Σ exp(x - maximum). g is the gradient with respect to the row's loss. A row with the
target -100 has gradient 0.
"""

import torch

from . import Operation, _logits
from .token_log_prob_backward import make

NO_REDUCTION = 0  # torch's number for reduction="none"


def loss_gradient(
    g: torch.Tensor, log_p: torch.Tensor, target: torch.Tensor, out: torch.Tensor
) -> None:
    """Write the gradient of losses with respect to x, as torch.autograd computes it."""
    # torch reads the last argument, the sum of weights, only for reduction="mean"
    no_weights = None, NO_REDUCTION, _logits.IGNORE_INDEX, g.new_empty(())
    grad = torch.ops.aten.nll_loss_backward(g, log_p, target, *no_weights)
    _logits.log_softmax_gradient(grad, log_p, out)


def baseline(g, x, target, maximum, log_sum, out: torch.Tensor) -> None:
    """Call what torch.autograd calls, with log p, which autograd saves, computed from x."""
    loss_gradient(g, _logits.log_probs(x, maximum, log_sum), target, out)


OPERATION = Operation(
    inputs=(_logits.G, _logits.X, _logits.TARGET, *_logits.SAVED),
    outputs=(_logits.DX,),
    inputs_of=_logits.inputs_from(make, _logits.TARGET),
    special_rows=_logits.special_rows(make, _logits.TARGET),
    exact=_logits.exact_loss_gradient,
    baseline=baseline,
    baseline_variant="torch_logits",
    baseline_float32_matrices=3,  # log p, and the gradients with respect to it and to x
    aten=(
        *("sub.Tensor", "sub_.Tensor", "nll_loss_backward"),
        *("_log_softmax_backward_data", "_log_softmax_backward_data.out"),
    ),
    watched=("torch._log_softmax_backward_data",),
    meeting_roofline=None,
)
