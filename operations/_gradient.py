"""What softmax_backward and log_softmax_backward share: operands, inputs, and the kind of bound.

A gradient is a difference of two terms that may be almost equal. An error bound proportional to the
gradient would be too strict for any arithmetic; one proportional to the row's largest gradient
would pass a kernel that drops the sum. So the bound adds the errors of both terms and of the sum.
"""

import torch

from . import InputsOf, Operand, Operation, Output

INPUTS = Operand("g"), Operand("y")  # the gradient with respect to y, and the output of the forward


def _inputs_of(forward) -> InputsOf:
    """Return a function that makes (g, y) from x; ``forward`` is torch's function for y."""

    def make_inputs(x: torch.Tensor, draw) -> tuple[torch.Tensor, ...]:
        # On a CPU torch sums in the dtype, and a float16 sum overflows beyond 65504.
        return draw(INPUTS[0]), forward(x, dim=-1, dtype=torch.float32).to(x.dtype)

    return make_inputs


def _undefined(make_inputs: InputsOf):
    """Return the function ``undefined`` of an operation; ``make_inputs`` makes (g, y) from x.

    A single infinity or NaN, which leaves a row without a softmax, is moved from x to g.
    """

    def rows(x: torch.Tensor, draw) -> tuple[str, tuple[torch.Tensor, ...]]:
        single = x.isnan() | (x == torch.inf)
        g = torch.where(single, x, draw(INPUTS[0]))
        return "rows without a gradient", make_inputs(x.masked_fill(single, 0.0), lambda operand: g)

    return rows


def gradient_of(forward, **own) -> Operation:
    """Return the Operation of ``forward``'s gradient; ``own`` has its other arguments."""
    make_inputs = _inputs_of(forward)
    return Operation(
        inputs=INPUTS,
        outputs=(Output("dx", row_terms=lambda dx: dx),),
        baseline_variant="torch_softmax",
        inputs_of=make_inputs,
        undefined=_undefined(make_inputs),
        roofline="add",
        meeting_roofline=None,
        **own,
    )
