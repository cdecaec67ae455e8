"""The check of gradients: what arithmetic can reach passes, what leaves something out fails."""

import pytest
import torch

from measure import inputs
from measure.check import gradients
from tests.marks import slow

CPU = torch.device("cpu")
OPS = ("softmax_backward", "log_softmax_backward")
SHAPES = [(64, 2), (64, 17), (64, 1000), (16, 30_000)]

both = pytest.mark.parametrize("op", OPS)
# What is allowed follows from the dtype: quick are the finest with values far apart, where rounding
# must pass, and the coarsest with values close together, where what is missing is hardest to see.
allowed = pytest.mark.parametrize(
    ("distribution", "dtype"),
    [
        ("normal", torch.float32),
        ("uniform", torch.bfloat16),
        slow("uniform", torch.float32),
        slow("uniform", torch.float16),
        slow("normal", torch.float16),
        slow("normal", torch.bfloat16),
    ],
)


def problem(dx, g, y, op):
    return gradients.check_values(dx, g, y, op).problem


def right(g, y, op):
    """In float64, rounded once."""
    return _exact(g.double(), y.double(), op).to(y.dtype)


def in_float32(g, y, op):
    return _exact(g.float(), y.float(), op).to(y.dtype)


def _exact(g, y, op):
    if op == "softmax_backward":
        return y * (g - (g * y).sum(dim=1, keepdim=True))
    return g - y.exp() * g.sum(dim=1, keepdim=True)


def as_torch_on_a_gpu(g, y, op):
    """Softmax's: g·y is rounded to the dtype before it is added up (torch 2.11, SoftMax.cu)."""
    if op == "log_softmax_backward":
        return in_float32(g, y, op)
    product = (g * y).float()
    return (product - y.float() * product.sum(dim=1, keepdim=True)).to(y.dtype)


@both
@allowed
@pytest.mark.parametrize("honest", [right, in_float32, as_torch_on_a_gpu])
def test_what_arithmetic_can_reach_passes(honest, distribution, dtype, op):
    for shift in (0.0, 1e4):
        for rows, cols in SHAPES:
            g, y = inputs.draw_for(op, distribution, dtype, rows, cols, 3, CPU, shift)
            assert problem(honest(g, y, op), g, y, op) is None


def zeros(g, y, op):
    return torch.zeros_like(g)


def without_the_sum(g, y, op):
    return g * y if op == "softmax_backward" else g.clone()


def with_the_mean(g, y, op):
    mean = g.float().mean(dim=1, keepdim=True)
    return (y.float() * (g.float() - mean) if op == "softmax_backward" else g - mean).to(y.dtype)


def tail_missing(g, y, op):
    most = slice(0, max(1, g.shape[1] * 9 // 10))
    g, y, dtype = g.double(), y.double(), y.dtype
    if op == "softmax_backward":
        return (y * (g - (g * y)[:, most].sum(dim=1, keepdim=True))).to(dtype)
    return (g - y.exp() * g[:, most].sum(dim=1, keepdim=True)).to(dtype)


def other_operation(g, y, op):
    if op == "softmax_backward":
        return right(g, y.double().log().to(y.dtype), "log_softmax_backward")
    return right(g, y.double().exp().to(y.dtype), "softmax_backward")


@both
@allowed
@pytest.mark.parametrize(
    "wrong",
    [zeros, without_the_sum, with_the_mean, tail_missing, other_operation],
)
def test_what_leaves_something_out_fails(wrong, distribution, dtype, op):
    for rows, cols in SHAPES:
        g, y = inputs.draw_for(op, distribution, dtype, rows, cols, 3, CPU)
        assert problem(wrong(g, y, op), g, y, op) is not None, (rows, cols)


@both
def test_one_column_has_no_gradient(op):
    g, y = inputs.draw_for(op, "normal", torch.float32, 4, 1, 3, CPU)
    assert problem(torch.zeros_like(g), g, y, op) is None
    assert problem(g, g, y, op) is not None


@both
def test_one_wrong_element_is_named(op):
    g, y = inputs.draw_for(op, "normal", torch.float32, 4, 300, 3, CPU)
    dx = right(g, y, op)
    dx[2, 7] *= 1.001
    assert f"at column 7 where {op} is" in problem(dx, g, y, op)


@both
def test_truncation_is_told_from_rounding(op):
    """As Triton's interpreter converts to bfloat16: right there, and only there."""
    g, y = inputs.draw_for(op, "normal", torch.bfloat16, 8, 1000, 3, CPU)
    exact = _exact(g.float(), y.float(), op)
    truncated = (exact.view(torch.int32) & -65536).view(torch.float32).to(torch.bfloat16)
    if op == "log_softmax_backward":  # softmax's may be rounded twice, which is as much
        assert problem(truncated, g, y, op) is not None
    assert gradients.check_values(truncated, g, y, op, truncates=True).problem is None
    missing = tail_missing(g, y, op)
    assert gradients.check_values(missing, g, y, op, truncates=True).problem is not None


@both
def test_what_is_not_finite_belongs_where_float64_has_it(op):
    g, y = inputs.draw_for(op, "normal", torch.float32, 4, 50, 3, CPU)
    g[1, 3] = torch.inf
    g[2, 4] = torch.nan
    dx = right(g, y, op)
    assert problem(dx, g, y, op) is None
    assert dx[1].isinf().sum() == 49
    for row, col, value in ((0, 5, torch.nan), (1, 5, 0.0), (1, 5, torch.inf), (2, 5, 0.0)):
        changed = dx.clone()
        changed[row, col] = value
        assert f"at column {col}" in problem(changed, g, y, op)


def test_a_value_beyond_the_dtype_may_be_its_infinity_or_its_largest():
    g = torch.full((1, 8), 60000.0, dtype=torch.float16)
    y = torch.full((1, 8), -torch.inf, dtype=torch.float16)
    y[0, 0] = 0  # all of the probability: the gradient is -7 times 60000
    dx = right(g, y, "log_softmax_backward")
    assert dx[0, 0] == -torch.inf
    for low, fine in ((-torch.inf, True), (-65504.0, True), (-60000.0, False), (torch.inf, False)):
        dx[0, 0] = low
        assert (problem(dx, g, y, "log_softmax_backward") is None) == fine


@both
def test_errors_are_of_the_terms_and_of_the_sum(op):
    g, y = inputs.draw_for(op, "normal", torch.float32, 8, 1000, 3, CPU)
    found = gradients.check_values(in_float32(g, y, op), g, y, op)
    assert 0 < found.max_rel_error < 1e-5
    assert 0 < found.max_row_sum_error < 1e-3
    largest = right(g, y, op).abs().max().item()
    assert 0 < found.max_abs_error < 1e-5 * largest
