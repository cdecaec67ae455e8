"""token_log_prob_entropy: log p of one element of each row, and the entropy -Σ p·log p of the row.

An element with p = 0 adds 0 to the entropy. Both values are float32.
"""

import torch

from . import FAST_EXP, ROUNDINGS, ROUNDOFF, SMALLEST_NORMAL, Exact, Operation, _logits
from .token_log_prob import make


def exact(x: torch.Tensor, index: torch.Tensor, dtype: torch.dtype) -> tuple[Exact, Exact]:
    log_p = torch.log_softmax(x, dim=1)
    p = log_p.exp()
    y = torch.special.entr(p).sum(dim=1)
    # An error of log p is a relative error of p, and so affects p·log p.
    weight = 1 + log_p.abs().clamp(max=1 / SMALLEST_NORMAL)
    bound = FAST_EXP * (p * weight).sum(dim=1) + ROUNDINGS * ROUNDOFF * (p * weight * weight).sum(
        dim=1
    )
    bound += x.shape[1] * -SMALLEST_NORMAL * torch.tensor(SMALLEST_NORMAL).log().item()
    return _logits.exact_log_prob(x, index), Exact(y, bound, y.abs().clamp(min=1.0))


def baseline(x: torch.Tensor, index: torch.Tensor, out: tuple[torch.Tensor, ...]) -> None:
    log_p = torch.log_softmax(x, dim=-1, dtype=torch.float32)
    torch.gather(log_p, 1, index[:, None], out=out[0][:, None])
    torch.sum(torch.special.entr(log_p.exp_()), dim=1, out=out[1])


OPERATION = Operation(
    inputs=(_logits.X, _logits.INDEX),
    outputs=(_logits.value("log_prob"), _logits.value("entropy")),
    inputs_of=_logits.inputs_from(make),
    special_rows=_logits.special_rows(make),
    exact=exact,
    baseline=baseline,
    baseline_variant="torch_logits",
    baseline_float32_matrices=2,  # log p, which p replaces, and p·log p
    aten=(
        *("log_softmax.int", "_log_softmax", "gather.out"),
        *("exp_", "special_entr", "sum.IntList_out"),
    ),
    watched=(
        *("torch.log_softmax", "torch.gather", "torch.Tensor.gather"),
        *("torch.special.entr", "torch.sum"),
    ),
    roofline="read",
    meeting_roofline="read_meet",
)
