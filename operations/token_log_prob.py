"""token_log_prob: log p of one element of each row, p the row's softmax, in float32."""

import torch

from . import Exact, Operation, _logits


def make(x: torch.Tensor, index: torch.Tensor, draw) -> tuple[torch.Tensor, ...]:
    return x, index


def exact(x: torch.Tensor, index: torch.Tensor, dtype: torch.dtype) -> Exact:
    return _logits.exact_log_prob(x, index)


def baseline(x: torch.Tensor, index: torch.Tensor, out: torch.Tensor) -> None:
    log_p = torch.log_softmax(x, dim=-1, dtype=torch.float32)
    torch.gather(log_p, 1, index[:, None], out=out[:, None])


OPERATION = Operation(
    inputs=(_logits.X, _logits.INDEX),
    outputs=(_logits.value("log_prob"),),
    inputs_of=_logits.inputs_from(make),
    special_rows=_logits.special_rows(make),
    exact=exact,
    baseline=baseline,
    baseline_variant="torch_logits",
    baseline_float32_matrices=2,  # x in float32, and log p
    aten=("log_softmax.int", "_log_softmax", "gather.out"),
    watched=("torch.log_softmax", "torch.gather", "torch.Tensor.gather"),
    roofline="read",
    meeting_roofline="read_meet",
)
