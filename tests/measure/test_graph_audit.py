"""The audit between timed calls: right results pass, stale and made-up ones do not."""

import pytest
import torch

from measure import inputs
from measure.check.graph_audit import Audit
from measure.clock import controls
from tests.marks import slow

# The coarsest, whose rounding is most like a fault. Slow: the others.
DTYPES = [slow("float32"), slow("float16"), "bfloat16"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "op", ["softmax", "log_softmax", "softmax_backward", "log_softmax_backward"]
)
def test_a_result_is_right_however_it_is_rounded_and_no_constant_is(op, dtype, device):
    given = op, "uniform", getattr(torch, dtype), 8, 4099
    given_inputs = inputs.draw_for(*given, 1, device)
    right, other, rounded = (torch.empty_like(given_inputs[-1]) for _ in range(3))
    torch_call = controls.baseline(op)
    torch_call(*given_inputs, right)
    torch_call(*inputs.draw_for(*given, 2, device), other)
    wide = tuple(x.double() for x in given_inputs)
    rounded.copy_(torch_call(*wide, torch.empty_like(wide[-1])))
    constant = torch.full_like(right, right.float().mean().item())
    zeros = torch.zeros_like(right)
    audit = Audit(right, op)
    for y, fine in (
        *((right, True), (rounded, True), (constant, False)),
        *((right, True), (other, False), (zeros, False)),
    ):
        audit(*given_inputs, y.clone())
        assert (audit.problem() is None) == fine


def test_a_value_that_the_check_allows_near_zero_is_no_fault(device):
    x = 4 * torch.randn(64, 256, device=device).half()
    y = torch.softmax(x, dim=-1)
    y[y < 2 * 2.0**-11 * y.amax(dim=1, keepdim=True)] = 0
    audit = Audit(x, "softmax")
    audit(x, y)
    assert audit.problem() is None


def test_one_missing_element_is_seen_and_the_output_is_overwritten(device):
    x = torch.rand(300, 257, device=device)
    y = torch.softmax(x, dim=-1)
    y[299, 256] = torch.nan
    audit = Audit(x, "softmax")
    audit(x, y)
    assert audit.problem() == "a call in a timed graph did not do its work"
    assert (y == 2.0).all()
    audit(x, y)
    assert audit.problem() is not None, "overwritten, and not written again"
    assert audit.problem() is None
