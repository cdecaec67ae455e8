"""The audit between timed calls: what it takes for a result, and what not."""

import pytest
import torch

from measure import baseline, inputs
from measure.audit import Audit
from tests.marks import slow

# The coarsest, whose rounding is most like a fault. Slow: the others.
DTYPES = [slow("float32"), slow("float16"), "bfloat16"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_no_constant_is_taken_for_a_result_and_no_rounding_for_a_fault(op, dtype, device):
    x = torch.rand(8, 4099, device=device).to(getattr(torch, dtype))
    right = getattr(torch, op)(x, dim=-1)
    rounded = getattr(torch, op)(x.double(), dim=-1).to(x.dtype)
    constant = torch.full_like(x, right.float().mean().item())
    audit = Audit(x, op)
    for y, fine in ((right, True), (rounded, True), (constant, False), (right, True)):
        audit(x, y.clone())
        assert (audit.problem() is None) == fine


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["softmax_backward", "log_softmax_backward"])
def test_a_gradient_is_a_result_and_that_of_other_values_is_not(op, dtype, device):
    dtype = getattr(torch, dtype)
    g, y = inputs.draw_for(op, "normal", dtype, 8, 4099, 1, device)
    right, other = torch.empty_like(y), torch.empty_like(y)
    torch_call = baseline.control(op)
    torch_call(g, y, right)
    torch_call(*inputs.draw_for(op, "normal", dtype, 8, 4099, 2, device), other)
    audit = Audit(y, op)
    for dx, fine in ((right, True), (other, False), (torch.zeros_like(y), False), (right, True)):
        audit(g, y, dx.clone())
        assert (audit.problem() is None) == fine


def test_what_the_gate_allows_near_zero_is_no_fault(device):
    x = 4 * torch.randn(64, 256, device=device).half()
    y = torch.softmax(x, dim=-1)
    y[y < 2 * 2.0**-11 * y.amax(dim=1, keepdim=True)] = 0
    audit = Audit(x, "softmax")
    audit(x, y)
    assert audit.problem() is None


def test_one_missing_element_is_seen_and_the_output_is_spoilt(device):
    x = torch.rand(300, 257, device=device)
    y = torch.softmax(x, dim=-1)
    y[299, 256] = torch.nan
    audit = Audit(x, "softmax")
    audit(x, y)
    assert audit.problem() == "a call in a timed graph did not do its work"
    assert (y == 2.0).all()
    audit(x, y)
    assert audit.problem() is not None, "spoilt, and not written again"
    assert audit.problem() is None
