"""What was timed is checked again, with other values in the timed buffers."""

import pytest
import torch

from measure import inputs
from measure.check import recheck
from measure.clock import base, controls, host
from measure.device.device import open_device
from measure.point import Point


@pytest.mark.parametrize("rows", [1, 2, 64])
@pytest.mark.parametrize("op", ["softmax", "softmax_backward", "log_softmax_backward"])
def test_an_honest_kernel_is_right_on_other_values_in_timed_buffers(op, rows):
    point = Point(gpu="cpu", dtype="float32", M=rows, N=90, variant="torch_softmax", op=op)
    first = inputs.draw_at(point, torch.device("cpu"), 0)
    clock = host.HostClock(inputs.rotation(point, open_device("cpu"), first)[:3])
    clock.add(controls.baseline(op), base.VARIANT)
    assert recheck.check_new_inputs(point, clock) is None
