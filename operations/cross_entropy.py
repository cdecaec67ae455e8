"""cross_entropy: the loss -log p of each row's target, p the row's softmax, in float32.

A target of -100, torch's default, is ignored: its loss is 0.
"""

import torch
from torch.nn import functional

from . import Exact, Operation, _logits


def make(x: torch.Tensor, target: torch.Tensor, draw) -> tuple[torch.Tensor, ...]:
    return x, target


def exact(x: torch.Tensor, target: torch.Tensor, dtype: torch.dtype) -> Exact:
    return _logits.exact_loss(x, target)


def baseline(x: torch.Tensor, target: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(functional.cross_entropy(x.float(), target, reduction="none"))


OPERATION = Operation(
    inputs=(_logits.X, _logits.TARGET),
    outputs=(_logits.value("loss"),),
    inputs_of=_logits.inputs_from(make, _logits.TARGET),
    special_rows=_logits.special_rows(make, _logits.TARGET),
    exact=exact,
    baseline=baseline,
    baseline_variant="torch_logits",
    baseline_float32_matrices=2,  # x in float32, and log p
    aten=("cross_entropy_loss", "log_softmax.int", "_log_softmax", "nll_loss_forward"),
    watched=("torch.nn.functional.cross_entropy", "torch.log_softmax", "torch.Tensor.gather"),
    roofline="read",
    meeting_roofline="read_meet",
)
