"""token_log_prob_backward: the gradient g · (1[n = index] - p) with respect to x.

p = exp(x - maximum - log_sum), where the forward has saved each row's maximum and its
log_sum = log Σ exp(x - maximum). g is the gradient with respect to the row's value.
"""

import torch

from . import Operation, _logits


def make(x: torch.Tensor, index: torch.Tensor, draw) -> tuple[torch.Tensor, ...]:
    return draw(_logits.G), x, index, *_logits.saved_by_forward(x)


def baseline(g, x, index, maximum, log_sum, out: torch.Tensor) -> None:
    """Call what torch.autograd calls, with log p, which autograd saves, computed from x."""
    log_p = _logits.log_probs(x, maximum, log_sum)
    grad = torch.zeros_like(log_p).scatter_add_(1, index[:, None], g[:, None])
    _logits.log_softmax_gradient(grad, log_p, out)


OPERATION = Operation(
    inputs=(_logits.G, _logits.X, _logits.INDEX, *_logits.SAVED),
    outputs=(_logits.DX,),
    inputs_of=_logits.inputs_from(make),
    special_rows=_logits.special_rows(make),
    exact=_logits.exact_gradient,
    baseline=baseline,
    baseline_variant="torch_logits",
    baseline_float32_matrices=3,  # log p, and the gradients with respect to it and to x
    aten=(
        *("sub.Tensor", "sub_.Tensor", "zeros_like", "scatter_add_"),
        *("_log_softmax_backward_data", "_log_softmax_backward_data.out"),
    ),
    watched=("torch._log_softmax_backward_data", "torch.zeros_like", "torch.Tensor.scatter_add_"),
    meeting_roofline=None,
)
