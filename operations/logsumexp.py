"""logsumexp: y = max x + log Σ exp(x - max x) of each row, one value per row, in float32."""

import torch

from . import FAST_EXP, ROUNDINGS, ROUNDOFF, Exact, Operation, _logits


def exact(x: torch.Tensor, dtype: torch.dtype) -> Exact:
    y, maximum = torch.logsumexp(x, dim=1), x.amax(dim=1)
    # Rounding the argument of exp matters in proportion to the element's share of the sum.
    argument = (torch.softmax(x, dim=1) * _logits.distance_from(maximum, x)).sum(dim=1)
    steps = argument + maximum.abs() + (y - maximum).abs()
    return Exact(y, FAST_EXP + ROUNDINGS * ROUNDOFF * steps, y.abs().clamp(min=1.0))


def special_rows(x: torch.Tensor, draw) -> dict:
    """Return the special rows of operations on logits, except the one that needs a target."""
    rows = _logits.special_rows(lambda x, index, draw: (x,))(x, draw)
    del rows["target -inf"]
    return rows


OPERATION = Operation(
    inputs=(_logits.X,),
    outputs=(_logits.value("y"),),
    inputs_of=lambda x, draw: (x,),
    special_rows=special_rows,
    exact=exact,
    baseline=lambda x, out: torch.logsumexp(x.float(), dim=-1, out=out),
    baseline_variant="torch_logits",
    baseline_float32_matrices=2,  # x in float32, and x - max x
    aten=(
        "logsumexp.out",
        "amax.out",
        "sub.Tensor",
        "exp_",
        "sum.IntList_out",
        "log_",
        "add_.Tensor",
    ),
    watched=("torch.logsumexp", "torch.softmax"),
    roofline="read",
    meeting_roofline="read_meet",
)
