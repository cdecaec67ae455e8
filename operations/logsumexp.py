"""logsumexp: y = max x + log Σ exp(x - max x) of each row, one value per row."""

import torch

from . import FAST_EXP, ROUNDOFF, SMALLEST_NORMAL, STEPS, Exact, Operand, Operation, Output


def exact(x: torch.Tensor, dtype: torch.dtype) -> Exact:
    y, maximum = torch.logsumexp(x, dim=1), x.amax(dim=1)
    # Rounding the argument of exp counts as in softmax, in proportion to each share of the sum.
    distance = (maximum[:, None] - x).clamp(max=1 / SMALLEST_NORMAL)
    argument = (torch.softmax(x, dim=1) * distance).sum(dim=1)
    steps = argument + maximum.abs() + (y - maximum).abs()
    # torch rounds every step to the dtype: x - max x, the exponentials, their sum, its logarithm.
    rounded = torch.finfo(dtype).eps / 2 * (2 + argument + (y - maximum).abs())
    return Exact(y, FAST_EXP + STEPS * ROUNDOFF * steps + rounded, y.abs().clamp(min=1.0))


OPERATION = Operation(
    inputs=(Operand("x"),),
    outputs=(Output("y", ("M",)),),
    inputs_of=lambda x, draw: (x,),
    exact=exact,
    baseline=lambda x, out: torch.logsumexp(x, dim=-1, out=out),
    baseline_variant="torch_softmax",
    baseline_matrices=1,  # x - max x
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
