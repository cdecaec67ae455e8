"""Each term of each bound of the correctness check counts: as much passes, and no more."""

import math

import pytest
import torch

from kernels.tensors import DTYPES
from measure.check import tolerance

UNIT, EXP, LEAST = 2.0**-24, 4e-6, 2.0**-126  # the constants of operations/__init__.py
F32, F16, B16 = torch.float32, torch.float16, torch.bfloat16


def softmax(dtype, column, x):
    weights = [math.exp(value - max(x)) for value in x]
    y = weights[column] / sum(weights)
    return y, {
        "exp": y * EXP,
        "steps": y * 8 * UNIT,
        "argument": y * 8 * UNIT * min(max(x) - x[column], 1 / LEAST),
        "least": LEAST,
    }


def log_softmax(dtype, column, x):
    y = x[column] - max(x) - math.log(sum(math.exp(value - max(x)) for value in x))
    return y, {"exp": EXP, "steps": 8 * UNIT * abs(y)}


def softmax_backward(dtype, column, g, y):
    half, tiny = torch.finfo(dtype).eps / 2, torch.finfo(dtype).tiny
    products = [a * b for a, b in zip(g, y, strict=True)]
    sizes, total = list(map(abs, products)), sum(products)
    return y[column] * (g[column] - total), {
        "rounding": half * sizes[column],
        "underflow": half * tiny,
        "product": 8 * UNIT * sizes[column],
        "share": 8 * UNIT * abs(y[column] * total),
        "sum": y[column] * EXP * sum(sizes),
        "rounding of the sum": y[column] * half * sum(sizes),
        "underflow of the sum": y[column] * half * tiny * len(g),
        "least": LEAST,
        "least of g": LEAST * abs(g[column]),
        "least of the sum": LEAST * abs(total),
    }


def log_softmax_backward(dtype, column, g, y):
    p, total = math.exp(y[column]), sum(g)
    return g[column] - p * total, {
        "gradient": 8 * UNIT * abs(g[column]),
        "share": 8 * UNIT * abs(p * total),
        "exp": EXP * abs(p * total),
        "argument": 8 * UNIT * min(abs(y[column]), 1 / LEAST) * abs(p * total) if p else 0.0,
        "sum": p * EXP * sum(map(abs, g)),
        "least": LEAST,
        "least of the sum": LEAST * abs(total),
    }


# Operation, term, dtypes in which it moves an end of the interval, column, and a row each of what
# the operation reads. All numbers are those of every dtype.
INF = math.inf
CASES = [
    (softmax, "exp", {F32}, 0, [0.0, 0.0]),
    (softmax, "steps", {F32}, 0, [0.0, 0.0, 0.0]),
    (softmax, "argument", {F32}, 1, [0.0, -12.0, -4.0]),
    (softmax, "least", {F32, B16}, 1, [0.0, -INF]),
    (log_softmax, "exp", {F32}, 0, [0.0, 0.0]),
    (log_softmax, "exp", {F32, F16, B16}, 0, [0.0, -20.0]),  # near 0
    (log_softmax, "steps", {F32}, 1, [0.0, -96.0]),
    (softmax_backward, "rounding", {F32, F16, B16}, 0, [64.0, -1.0], [0.015625, 0.984375]),
    (softmax_backward, "underflow", {F16}, 0, [0.0], [1.0]),
    (softmax_backward, "product", {F32}, 0, [64.0, -1.0], [0.015625, 0.984375]),
    (softmax_backward, "share", {F32}, 1, [3.0, 0.0, 3.0], [0.5, 0.25, 0.25]),
    (softmax_backward, "sum", {F32}, 1, [3.0, 0.0, -3.0], [0.375, 0.25, 0.375]),
    (softmax_backward, "rounding of the sum", {F32, F16, B16}, 1, [3, 0, -3], [0.375, 0.25, 0.375]),
    (softmax_backward, "underflow of the sum", {F16}, 0, [0.0] * 100, [1.0] + [0.0] * 99),
    (softmax_backward, "least", {F32, B16}, 1, [0.0, 0.0], [1.0, 0.0]),
    (softmax_backward, "least of g", {F32, B16}, 1, [0.0, 7.0], [1.0, 0.0]),
    (softmax_backward, "least of the sum", {F32, B16}, 1, [7.0, 0.0], [1.0, 0.0]),
    (log_softmax_backward, "gradient", {F32}, 0, [3.0, 0.0], [-64.0, 0.0]),
    (log_softmax_backward, "share", {F32}, 1, [3.0, 0.0], [-0.6875, -0.6875]),
    (log_softmax_backward, "exp", {F32}, 1, [3.0, 0.0], [-0.6875, -0.6875]),
    (log_softmax_backward, "argument", {F32}, 1, [3.0, 0.0], [0.0, -64.0]),
    (log_softmax_backward, "sum", {F32, F16, B16}, 1, [3.0, 0.0, -3.0], [-2.0, -0.25, -2.0]),
    (log_softmax_backward, "least", {F32, B16}, 1, [0.0, 0.0], [0.0, -INF]),
    (log_softmax_backward, "least of the sum", {F32, B16}, 1, [7.0, 0.0], [0.0, -INF]),
]


def interval(exact, error, dtype):
    """The least and the greatest value that passes, each rounded to the dtype."""
    return torch.tensor([exact - error, exact + error], dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}, {case[1]}")
def test_a_result_passes_up_to_the_bound_and_not_beyond(case, dtype):
    op, term, visible, column, *rows = case
    inputs = tuple(torch.tensor([row], dtype=dtype) for row in rows)
    exact, errors = zip(*(op(dtype, n, *rows) for n in range(len(rows[0]))), strict=True)
    bound, y = sum(errors[column].values()), torch.tensor([exact], dtype=torch.float64).to(dtype)
    ends = interval(exact[column], bound, dtype)
    without = interval(exact[column], bound - errors[column][term], dtype)
    assert dtype not in visible or not torch.equal(without, ends), "the case does not need its term"
    for end, beyond in zip(ends, (-INF, INF), strict=True):
        y[0, column] = end
        assert tolerance.check_rows(y, inputs, op.__name__).problem is None
        y[0, column] = torch.nextafter(end, torch.tensor(beyond, dtype=dtype))
        problem = tolerance.check_rows(y, inputs, op.__name__).problem
        assert f"at column {column} where {op.__name__} is" in problem


HALF, E16 = math.log(0.5), math.exp(-16)


@pytest.mark.parametrize(
    ("op", "rows", "exact", "wrong", "absolute", "relative", "of_sum"),
    [
        ("softmax", [[0.0, -16.0]], [1 - E16, E16], [1 - E16, 2 * E16], E16, 1.0, E16),
        # Relative errors mean nothing below half an ulp of the largest element.
        ("softmax", [[0.0, -17.0]], [1.0, E16 / math.e], [1.0, E16], E16 * 0.632, 0.0, E16 * 0.632),
        ("log_softmax", [[0.0, 0.0]], [HALF] * 2, [HALF - 0.1, HALF], 0.1, 0.1, 0.0476),
        ("log_softmax", [[0.0, -20.0]], [0.0, -20.0], [0.0, -19.0], 1.0, 0.05, 3.5e-9),
        ("softmax_backward", [[3.0, -1], [0.5, 0.5]], [1, -1], [1.2, -1], 0.2, 0.1, 0.2),
        ("log_softmax_backward", [[3.0, -1], [HALF] * 2], [2, -2], [2.4, -2], 0.4, 0.1, 0.4),
    ],
)
def test_errors_are_those_of_the_worst_row(op, rows, exact, wrong, absolute, relative, of_sum):
    """The other rows are right, and NaN, which has no error."""
    inputs = tuple(torch.tensor([row, row, [math.nan] * len(row)], dtype=F32) for row in rows)
    y = torch.tensor([exact, wrong, [math.nan] * len(wrong)], dtype=F32)
    errors = tolerance.check_rows(y, inputs, op).columns()
    assert errors == {
        "max_abs_error": pytest.approx(absolute, rel=1e-2),
        "max_rel_error": pytest.approx(relative, rel=1e-2, abs=1e-6),
        "max_row_sum_error": pytest.approx(of_sum, rel=1e-2, abs=6e-8),
    }
