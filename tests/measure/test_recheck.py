"""What was timed is checked again, with other values in the timed buffers."""

import pytest
import torch

from measure import inputs
from measure.check import recheck
from measure.clock import controls
from measure.device.device import open_device
from measure.point import Point


def timed_point(op="softmax", rows=6):
    """A point, torch's own call, and the buffers that are timed."""
    point = Point(gpu="cpu", dtype="float32", M=rows, N=90, variant="torch_softmax", op=op)
    given = inputs.draw_at(point, torch.empty(rows, 90), 0)
    return point, inputs.rotation(point, open_device("cpu"), given)[:3]


@pytest.mark.parametrize("rows", [1, 2, 64])
@pytest.mark.parametrize("op", ["softmax", "softmax_backward", "log_softmax_backward"])
def test_an_honest_kernel_is_right_on_other_values_in_timed_buffers(op, rows):
    point, (buffers, *_) = timed_point(op, rows)
    calls = [lambda: controls.baseline(op)(*buffers)] * 2
    assert recheck.check_new_inputs(point, buffers, *calls) is None
