"""The correctness checks before and after timing: what is returned, which rows are looked at."""

import re

import pytest
import torch

from measure import inputs
from measure.check import correctness

CPU = torch.device("cpu")


def right(x, out=None):
    """Rounded once: what torch's own sum in float32 is off by depends on the CPU's vectors."""
    y = torch.softmax(x.double(), dim=-1).to(x.dtype)
    return y if out is None else out.copy_(y)


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
    x = inputs.draw("normal", torch.float32, (4, 8), 3407, CPU)
    assert re.match(
        words, correctness.check_call(softmax, (x,), torch.arange(4), "softmax").problem
    )


def test_a_sample_of_rows_has_the_first_the_last_and_others():
    rows = correctness.rows_to_check(10**6, 131072, seed=1, device=CPU).tolist()
    assert len(rows) == correctness.ELEMENTS_CHECKED // 131072 == len(set(rows))
    assert rows == sorted(rows)
    assert rows[0] == 0
    assert rows[-1] == 10**6 - 1
    assert rows != correctness.rows_to_check(10**6, 131072, seed=2, device=CPU).tolist()
    assert correctness.rows_to_check(5, 2**24, seed=1, device=CPU).shape == (3,)
    assert correctness.rows_to_check(7, 10, seed=1, device=CPU).tolist() == list(range(7))
