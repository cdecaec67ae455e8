"""log_softmax: y = x - max x - log Σ exp(x - max x) over each row."""

import torch

from . import FAST_EXP, ROUNDINGS, ROUNDOFF, Exact, Operand, Operation, Output
from ._rounding import lost_before_rounding


def exact(x: torch.Tensor, dtype: torch.dtype) -> Exact:
    y = torch.log_softmax(x, dim=-1)
    of_rounding = max(ROUNDINGS * ROUNDOFF, lost_before_rounding(dtype))
    return Exact(y, FAST_EXP + of_rounding * y.abs(), y.abs().clamp(min=1.0))


OPERATION = Operation(
    inputs=(Operand("x"),),
    inputs_of=lambda x, draw: (x,),
    exact=exact,
    outputs=(Output("y", row_terms=torch.exp),),
    baseline_variant="torch_softmax",
    baseline=lambda x, out: torch.log_softmax(x, dim=-1, out=out),
    aten=("log_softmax.int_out", "_log_softmax.out"),
    watched=("torch.log_softmax",),
)
