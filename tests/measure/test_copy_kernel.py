"""The roofline moves what the operation moves: it reads one matrix or two, and writes one."""

import pytest
import torch

from measure import copy_kernel


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_every_shape_writes_all_of_a_copy_and_of_a_sum(dtype, device):
    g, y = (torch.randint(-8, 8, (33, 4099), device=device).to(dtype) for _ in range(2))
    for read, expected in (((g,), g), ((g, y), g + y)):
        calls = copy_kernel.candidates(dtype.itemsize, len(read))
        assert len(calls) == len(copy_kernel.SHAPES)
        for call in calls:
            out = torch.full_like(g, torch.nan)
            call(*read, out)
            assert torch.equal(out, expected)
