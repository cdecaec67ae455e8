"""The correctness check of log-softmax."""

import pytest
import torch

from measure.check import correctness, tolerance
from tests.marks import slow

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def right(x):
    return torch.log_softmax(x.double(), dim=-1).to(x.dtype)


def problem(y, x):
    return tolerance.check_values(y, x, "log_softmax").problem


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
# A row that is 0, and one of many tiles; slow: rows between, and a sum of many.
@pytest.mark.parametrize("cols", [1, slow(2), slow(3), 781, slow(50_000)])
def test_a_correctly_rounded_result_passes(cols, dtype):
    torch.manual_seed(cols)
    for scale in (0, 1, 30):
        x = (torch.randn(4, cols) * scale).to(dtype)
        assert problem(right(x), x) is None


def test_what_a_kernel_in_float32_can_reach_passes():
    torch.manual_seed(0)
    x = torch.randn(8, 4000) * 5
    shifted = x - x.amax(dim=1, keepdim=True)
    assert problem(shifted - shifted.exp().sum(dim=1, keepdim=True).log(), x) is None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "wrong",
    [
        torch.zeros_like,
        lambda x: torch.softmax(x.float(), dim=-1).to(x.dtype),
        lambda x: x - x.amax(dim=1, keepdim=True),
        lambda x: right(x) + 0.1,
        lambda x: torch.softmax(x.float(), dim=-1).to(x.dtype).log(),
    ],
    ids=["zeros", "softmax", "not divided by the sum", "off by 0.1", "log of the rounded"],
)
def test_what_is_wrong_fails(wrong, dtype):
    torch.manual_seed(1)
    x = (torch.randn(4, 781) * torch.tensor([[1.0], [8.0], [40.0], [40.0]])).to(dtype)
    assert problem(wrong(x), x) is not None


def tail_missing(x):
    shifted = x.double() - x.double().amax(dim=1, keepdim=True)
    return (shifted - shifted[:, :-8].exp().sum(dim=1, keepdim=True).log()).to(x.dtype)


def in_16_bits(x):
    shifted = x - x.amax(dim=1, keepdim=True)
    return shifted - shifted.float().exp().sum(dim=1, keepdim=True).log().to(x.dtype)


def probabilities_a_fifth_off(x):
    signs = torch.tensor([1.0, -1.0]).repeat(x.shape[1] // 2)
    return (torch.log_softmax(x.double(), dim=-1) + 0.2 * signs).to(x.dtype)


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@pytest.mark.parametrize("wrong", [tail_missing, in_16_bits, probabilities_a_fifth_off])
def test_faults_near_the_size_of_a_16_bit_rounding_are_caught(wrong, dtype):
    torch.manual_seed(2)
    x = torch.randn(8, 1024).to(dtype)
    assert problem(wrong(x), x) is not None


def test_truncation_is_told_from_rounding():
    """As Triton's interpreter converts to bfloat16: right there, and only there."""
    torch.manual_seed(3)
    x = torch.randn(8, 1000).to(torch.bfloat16)
    exact = torch.log_softmax(x.float(), dim=-1)
    truncated = (exact.view(torch.int32) & -65536).view(torch.float32).to(torch.bfloat16)
    assert problem(truncated, x) is not None
    assert tolerance.check_values(truncated, x, "log_softmax", truncates=True).problem is None
    assert tolerance.check_values(tail_missing(x), x, "log_softmax").problem is not None


def test_infinities_belong_where_softmax_is_zero_for_good():
    x = torch.tensor([[0.0, -float("inf"), 1.0]])
    y = right(x)
    assert problem(y, x) is None
    for column, value in ((1, -1e30), (0, -float("inf")), (0, float("inf")), (2, float("nan"))):
        changed = y.clone()
        changed[0, column] = value
        assert f"at column {column}" in problem(changed, x)


def test_a_value_beyond_the_dtype_may_be_its_infinity_or_its_largest():
    x = torch.tensor([[-65504.0, 65504.0]], dtype=torch.float16)  # log-softmax: -131008 and 0
    for low in (-float("inf"), -65504.0):
        assert problem(torch.tensor([[low, 0.0]], dtype=torch.float16), x) is None
    assert problem(torch.tensor([[-60000.0, 0.0]], dtype=torch.float16), x) is not None


def test_the_operation_that_is_asked_for_is_checked():
    x = torch.randn(4, 100)
    rows = torch.arange(4)

    def log_softmax(x, out=None):
        return torch.log_softmax(x, dim=-1, out=out)

    assert correctness.check_call(log_softmax, (x,), rows, "log_softmax").problem is None
    assert correctness.check_call(log_softmax, (x,), rows).problem is not None
