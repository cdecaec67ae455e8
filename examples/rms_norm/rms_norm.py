"""rms_norm: y = x / sqrt(mean x² + EPS) · weight of each row, with a weight for each column."""

import torch

from operations import FAST_EXP, ROUNDINGS, ROUNDOFF, SMALLEST_NORMAL, Exact, Operand, Operation

EPS = 1e-6
X, WEIGHT = Operand("x"), Operand("weight", ("N",))


def exact(x: torch.Tensor, weight: torch.Tensor, dtype: torch.dtype) -> Exact:
    y = x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + EPS) * weight
    # The baseline rounds to the dtype before it multiplies by the weight.
    relative = FAST_EXP + ROUNDINGS * ROUNDOFF + torch.finfo(dtype).eps / 2
    bound = relative * y.abs() + SMALLEST_NORMAL * (1 + weight.abs())
    return Exact(y, bound, y.abs().clamp(min=torch.finfo(dtype).tiny))


def baseline(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> None:
    """Write torch's result to ``out``, which its function cannot: the weight takes another kernel.

    So a call without ``out``, which is one kernel on a GPU, takes about half the time.
    """
    torch.mul(torch.nn.functional.rms_norm(x, weight.shape, None, EPS), weight, out=out)


OPERATION = Operation(
    inputs=(X, WEIGHT),
    inputs_of=lambda x, draw: (x, draw(WEIGHT)),
    exact=exact,
    baseline=baseline,
    baseline_matrices=4,  # on a CPU; its fused kernel on a GPU allocates its result alone
    aten=("rms_norm", "_fused_rms_norm", "mul.out"),
    watched=("torch.nn.functional.rms_norm", "torch.mul", "torch.rsqrt"),
)
