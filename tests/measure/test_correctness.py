"""The correctness check passes what is right to the dtype's rounding, and nothing else."""

import pytest
import torch

from measure import inputs
from measure.check import correctness
from measure.check import tolerance as tolerances
from tests.marks import slow

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
CPU = torch.device("cpu")


def draw(distribution, dtype, rows, cols):
    return inputs.draw(distribution, dtype, rows, cols, 3407, CPU)


def right(x, out=None):
    """Rounded once: what torch's own sum in float32 is off by depends on the CPU's vectors."""
    y = torch.softmax(x.double(), dim=-1).to(x.dtype)
    return y if out is None else out.copy_(y)


def verdict(softmax, x):
    return correctness.check_call(softmax, (x,), torch.arange(x.shape[0]))


# A row that is 1, values far apart, and values so small that float16 has few digits for them.
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("cols", "distribution"),
    [
        *((1, "uniform"), (781, "normal"), (131072, "uniform")),
        *(slow(cols, "uniform") for cols in (2, 781, 4096, 2**20)),
        *(slow(cols, "normal") for cols in (1, 2, 4096, 131072, 2**20)),
    ],
)
def test_a_correctly_rounded_softmax_passes(cols, distribution, dtype):
    accuracy = verdict(right, draw(distribution, dtype, 3, cols))
    assert accuracy.problem is None
    assert accuracy.max_rel_error < 2 * tolerances.UNIT_ROUNDOFF[dtype]


def zeros(x):
    return torch.zeros_like(x)


def constant(x):
    return torch.full_like(x, 1 / x.shape[1])


def unnormalised(x):
    wide = x.float()
    return torch.exp(wide - wide.amax(dim=1, keepdim=True)).to(x.dtype)


def last_column_missing(x):
    y = right(x)
    y[:, -1] = 0
    return y


def one_nan(x):
    y = right(x)
    y[0, 0] = float("nan")
    return y


def scaled_by_two_percent(x):
    return (right(x).float() * 1.02).to(x.dtype)


WRONG = [zeros, constant, unnormalised, last_column_missing, one_nan, scaled_by_two_percent]


# What is allowed follows from the dtype and from the row: the finest dtype with a short one, the
# coarsest with a long one, where every value is small.
@pytest.mark.parametrize(
    ("cols", "dtype"),
    [
        *((16, torch.float32), (131072, torch.bfloat16)),
        *(slow(16, dtype) for dtype in DTYPES[1:]),
        *(slow(4096, dtype) for dtype in DTYPES),
        *(slow(131072, dtype) for dtype in DTYPES[:2]),
    ],
)
@pytest.mark.parametrize("compute", WRONG, ids=lambda f: f.__name__)
def test_a_wrong_kernel_is_caught(compute, cols, dtype):
    def softmax(x, out=None):
        y = compute(x)
        return y if out is None else out.copy_(y)

    accuracy = verdict(softmax, draw("normal", dtype, 4, cols))
    assert accuracy.problem is not None, f"{compute.__name__} passed"


@pytest.mark.parametrize(
    ("softmax", "words"),
    [
        (lambda x, out=None: None, "returned NoneType"),
        (lambda x, out=None: right(x)[:, :-1], r"returned shape \(4, 7\), expected \(4, 8\)"),
        (lambda x, out=None: right(x).double(), "returned dtype torch.float64"),
        (lambda x, out=None: right(x).to("meta"), "returned device meta"),
        (lambda x, out=None: right(x), "was given out, but returned another"),
        (lambda x, out=None: right(x) if out is None else out, "nan at column 0"),
    ],
)
def test_a_wrong_result_is_described(softmax, words):
    with pytest.raises(AssertionError, match=words):
        assert verdict(softmax, draw("normal", torch.float32, 4, 8)).problem is None


def test_a_kernel_that_changes_its_input_is_caught():
    def softmax(x, out=None):
        y = right(x, out)
        x[0, 0] += 1
        return y

    assert "changed its input" in verdict(softmax, draw("normal", torch.float32, 4, 8)).problem


def test_nan_is_right_exactly_where_softmax_is_nan():
    x = torch.randn(3, 8)
    x[1] = -torch.inf
    assert correctness.check_values(torch.softmax(x, dim=-1), x).problem is None
    finite = torch.softmax(x, dim=-1)
    finite[1] = 0
    assert "where softmax is nan" in correctness.check_values(finite, x).problem


def test_a_sample_of_rows_has_the_first_the_last_and_others():
    rows = correctness.rows_to_check(10**6, 131072, seed=1, device=CPU).tolist()
    assert len(rows) == correctness.ELEMENTS_CHECKED // 131072 == len(set(rows))
    assert rows == sorted(rows)
    assert rows[0] == 0
    assert rows[-1] == 10**6 - 1
    assert rows != correctness.rows_to_check(10**6, 131072, seed=2, device=CPU).tolist()
    assert correctness.rows_to_check(5, 2**24, seed=1, device=CPU).shape == (3,)
    assert correctness.rows_to_check(7, 10, seed=1, device=CPU).tolist() == list(range(7))
