"""What float32 arithmetic and one rounding can reach passes; what leaves something out fails."""

import pytest
import torch

import operations
from kernels.tensors import DTYPES
from measure import inputs
from tests.kernels.helpers.variants import rows_problem
from tests.marks import slow

CPU = torch.device("cpu")
FORWARD = ("softmax", "log_softmax")
each_op = pytest.mark.parametrize("op", [*FORWARD, "softmax_backward", "log_softmax_backward"])


def compute(op, operands, precision=torch.float64, share=1.0):
    """The operation in a precision, rounded once; its sums are over a share of the columns."""
    first, *y = (x.to(precision) for x in operands)

    def total(values):
        return values[:, : int(share * values.shape[1])].sum(dim=1, keepdim=True)

    if op in FORWARD:
        shifted = first - first.amax(dim=1, keepdim=True)
        weights = shifted.exp()
        y_wide = weights / total(weights) if op == "softmax" else shifted - total(weights).log()
    elif op == "softmax_backward":
        y_wide = y[0] * (first - total(first * y[0]))
    else:
        y_wide = first - y[0].exp() * total(first)
    return y_wide.to(operands[0].dtype)


def draw(op, kind, dtype, rows, cols):
    """What ``op`` reads: rows that are drawn, masked by -inf in part, or far from 0."""
    distribution = "uniform" if kind == "uniform" else "normal"
    x = inputs.draw(distribution, torch.float32, (rows, cols), 3, CPU)
    if kind == "masked":
        x[:, cols // 3 :: 2] = -torch.inf
    elif kind == "large":
        x = 16 * x + 1e4  # numbers of 16 bits are 8 or 64 apart there
    x = x.to(dtype)
    return operations.load(op).inputs_of(
        x, lambda operand: inputs.draw_operand(operand, dtype, rows, cols, 4, CPU)
    )


# A row that is 1 or 0, one that is no multiple of anything, and one of many tiles.
@pytest.mark.parametrize("cols", [1, 781, slow(30_000)])
@pytest.mark.parametrize("kind", ["uniform", "normal", "masked", "large"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@each_op
def test_what_arithmetic_can_reach_passes(op, dtype, kind, cols):
    operands = draw(op, kind, dtype, 8, cols)
    for precision in (torch.float64, torch.float32):
        assert rows_problem(compute(op, operands, precision), operands, op) is None


# Float16 that went through bfloat16 has 8 bits; bfloat16 with 5 is as coarse.
@pytest.mark.parametrize(("dtype", "bits"), [(torch.float16, 8), (torch.bfloat16, 5)], ids=str)
@pytest.mark.parametrize("kind", ["uniform", "normal", "masked", "large"])
@pytest.mark.parametrize("cols", [256, 4096])
@pytest.mark.parametrize("op", FORWARD)
def test_a_result_of_fewer_bits_than_the_dtype_fails(op, cols, kind, dtype, bits):
    operands = draw(op, kind, dtype, 16, cols)
    mantissa, exponent = torch.frexp(compute(op, operands).float())
    coarse = torch.ldexp((mantissa * 2**bits).round(), exponent - bits).to(dtype)
    assert rows_problem(coarse, operands, op) is not None


LAST = torch.tensor([-1])
WRONG = {
    "zeros": lambda op, operands: torch.zeros_like(operands[0]),
    "a thousandth more": lambda op, operands: (compute(op, operands).double() * 1.001).to(
        operands[0].dtype
    ),
    "one column missing": lambda op, operands: compute(op, operands).index_fill(1, LAST, 0),
    "a tenth missing": lambda op, operands: compute(op, operands, share=0.9),
    "without the sum": lambda op, operands: compute(op, operands, share=0.0),
}


# Short rows of the finest dtype, and long ones of the coarsest, where every value is small.
@pytest.mark.parametrize(
    ("cols", "dtype"),
    [(16, torch.float32), (1000, torch.float16), (30_000, torch.bfloat16)],
    ids=str,
)
@pytest.mark.parametrize("wrong", WRONG)
@each_op
def test_what_leaves_something_out_fails(op, wrong, cols, dtype):
    if (wrong, dtype) == ("a thousandth more", torch.bfloat16):
        pytest.skip("less than its rounding")
    operands = draw(op, "normal", dtype, 16, cols)
    assert rows_problem(WRONG[wrong](op, operands), operands, op) is not None


@each_op
def test_truncation_is_told_from_rounding(op):
    """As Triton's interpreter converts to bfloat16: right there, and only there."""
    operands = draw(op, "normal", torch.bfloat16, 8, 1000)
    exact = compute(op, tuple(x.float() for x in operands), torch.float32)
    truncated = (exact.view(torch.int32) & -65536).view(torch.float32).to(torch.bfloat16)
    if op != "softmax_backward":  # may be rounded twice, which is as much
        assert rows_problem(truncated, operands, op) is not None
    assert rows_problem(truncated, operands, op, True) is None
    assert rows_problem(compute(op, operands, share=0.9), operands, op, True) is not None


@each_op
def test_what_is_not_finite_belongs_where_float64_has_it(op):
    operands = draw(op, "masked", torch.float32, 4, 50)
    operands[0][1, 3] = torch.inf
    operands[0][2, 4] = torch.nan
    y = compute(op, operands)
    assert rows_problem(y, operands, op) is None
    for row, value in ((0, torch.nan), (0, torch.inf), (1, 0.5), (2, 0.5)):
        changed = y.clone()
        changed[row, 5] = value
        assert f"at column 5 where {op} is" in rows_problem(changed, operands, op)


def test_a_value_beyond_the_dtype_may_be_its_infinity_or_its_largest():
    x = torch.tensor([[-65504.0, 65504.0]], dtype=torch.float16)  # log-softmax: -131008 and 0
    for low, fine in ((-torch.inf, True), (-65504.0, True), (-60000.0, False), (torch.inf, False)):
        y = torch.tensor([[low, 0.0]], dtype=torch.float16)
        assert (rows_problem(y, (x,), "log_softmax") is None) == fine
