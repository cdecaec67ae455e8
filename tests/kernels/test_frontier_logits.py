"""The variant `frontier_logits` by the emulator: right on ordinary and on special rows."""

import pytest
import torch

import kernels
import operations
from measure.check import correctness, tolerance
from measure.inputs import draw_for, draw_operand

CPU = torch.device("cpu")
LOGITS = kernels.load("frontier_logits")
OPERATIONS = sorted(kernels.ops("frontier_logits"))


@pytest.mark.parametrize("cols", [100, 2001, 5000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("op", OPERATIONS)
def test_it_computes_the_operations_as_they_are_defined(op, dtype, cols, emulated_logits):
    call = LOGITS.function(op)
    inputs = draw_for(op, "normal", dtype, 5, cols, 1, CPU)
    assert correctness.check_call(call, inputs, torch.arange(5), op).problem is None
    x = torch.randn(4, cols, generator=torch.Generator().manual_seed(2)).to(dtype)
    cases = operations.load(op).special_rows(
        x, lambda operand: draw_operand(operand, x.dtype, *x.shape, 3, CPU)
    )
    problems = {
        name: tolerance.check_rows(call(*inputs), inputs, op).problem
        for name, inputs in cases.items()
    }
    assert problems == dict.fromkeys(cases)


def test_its_limits_are_those_of_its_kernels():
    assert "an NVIDIA GPU" in LOGITS.unsupported(torch.empty(4, 2**20, device="meta"))
    assert "N = 1073741825" in LOGITS.unsupported(torch.empty(1, 2**30 + 1, device="meta"))
