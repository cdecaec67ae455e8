"""softmax: y = exp(x - max x) / Σ exp(x - max x) over each row."""

import torch

from . import FAST_EXP, ROUNDINGS, ROUNDOFF, SMALLEST_NORMAL, Exact, Operand, Operation, Output
from ._rounding import lost_before_rounding


def exact(x: torch.Tensor, dtype: torch.dtype) -> Exact:
    y, limits = torch.softmax(x, dim=-1), torch.finfo(dtype)
    # Rounding the argument of exp causes a relative error proportional to the argument, which is
    # the distance from the maximum.
    distance = (x.amax(dim=1, keepdim=True) - x).clamp(max=1 / SMALLEST_NORMAL)
    of_exp = max(FAST_EXP, lost_before_rounding(dtype))
    bound = y * (of_exp + ROUNDINGS * ROUNDOFF * (1 + distance)) + SMALLEST_NORMAL
    # Relative errors mean little for subnormal numbers, which have few significant bits.
    smallest = (limits.eps / 2 * y.amax(dim=1, keepdim=True)).clamp(min=limits.tiny)
    return Exact(y, bound, torch.where(y >= smallest, y, torch.inf))


OPERATION = Operation(
    inputs=(Operand("x"),),
    inputs_of=lambda x, draw: (x,),
    exact=exact,
    outputs=(Output("y", row_terms=lambda y: y),),
    baseline=lambda x, out: torch.softmax(x, dim=-1, out=out),
    aten=("softmax.int_out", "_softmax.out"),
    watched=("torch.softmax",),
)
