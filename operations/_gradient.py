"""Operands of both gradients, and how they are drawn.

A gradient is the difference of two terms, which may be almost equal. A bound in proportion to it is
too strict for any arithmetic, and in proportion to the row's largest gradient too loose: a kernel
that drops the sum would pass. So the rounding errors of both terms and of the sum add up.
"""

import torch

from . import InputsOf, Operand, Operation, Output

INPUTS = Operand("g"), Operand("y")  # the gradient with respect to y, and the output of the forward


def _inputs_of(forward) -> InputsOf:
    """Return the function that makes (g, y) from x; ``forward`` is torch's function for y."""

    def make_inputs(x: torch.Tensor, draw) -> tuple[torch.Tensor, ...]:
        # On a CPU torch sums in the dtype, and a float16 sum overflows beyond 65504.
        return draw(INPUTS[0]), forward(x, dim=-1, dtype=torch.float32).to(x.dtype)

    return make_inputs


def _undefined(make_inputs: InputsOf):
    """Return the function for rows without a finite gradient; ``make_inputs`` makes (g, y) from x.

    Where a single element leaves a row without a softmax, it moves from x to the gradient.
    """

    def rows(x: torch.Tensor, draw) -> tuple[str, tuple[torch.Tensor, ...]]:
        single = x.isnan() | (x == torch.inf)
        g = torch.where(single, x, draw(INPUTS[0]))
        return "rows without a gradient", make_inputs(x.masked_fill(single, 0.0), lambda operand: g)

    return rows


def gradient_of(forward, **own) -> Operation:
    """Return the gradient of torch's ``forward``; ``own``: the other arguments of Operation."""
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
