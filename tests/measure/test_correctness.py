"""The correctness checks before and after timing: what is returned, which rows are looked at."""

import re

import pytest
import torch

from measure import inputs
from measure.check import correctness, recheck
from measure.clock import base, controls, host
from measure.device.opened import open_device
from measure.point import Point

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
    x = inputs.draw("normal", torch.float32, 4, 8, 3407, CPU)
    assert re.match(words, correctness.check_call(softmax, (x,), torch.arange(4)).problem)


def test_a_sample_of_rows_has_the_first_the_last_and_others():
    rows = correctness.rows_to_check(10**6, 131072, seed=1, device=CPU).tolist()
    assert len(rows) == correctness.ELEMENTS_CHECKED // 131072 == len(set(rows))
    assert rows == sorted(rows)
    assert rows[0] == 0
    assert rows[-1] == 10**6 - 1
    assert rows != correctness.rows_to_check(10**6, 131072, seed=2, device=CPU).tolist()
    assert correctness.rows_to_check(5, 2**24, seed=1, device=CPU).shape == (3,)
    assert correctness.rows_to_check(7, 10, seed=1, device=CPU).tolist() == list(range(7))


@pytest.mark.parametrize("rows", [1, 2, 64])
@pytest.mark.parametrize("op", ["softmax", "softmax_backward", "log_softmax_backward"])
def test_an_honest_kernel_is_right_on_other_values_in_timed_buffers(op, rows):
    point = Point(gpu="cpu", dtype="float32", M=rows, N=90, variant="torch_softmax", op=op)
    first = inputs.draw_at(point, CPU, 0)
    clock = host.HostClock(inputs.rotation(point, open_device("cpu"), first)[:3])
    clock.add(controls.baseline(op), base.VARIANT)
    assert recheck.check_new_inputs(point, clock) is None
