"""CUDA C++ kernels on a GPU, in every config: right, and in any batch."""

import pytest
import torch

import kernels
from kernels.cuda import launch
from tests.kernels.helpers.launches import CHOSEN, ONE_WAY, code_paths, problem_of, variants
from tests.kernels.helpers.variants import assert_rows_right, largest_error, run
from tests.marks import slow

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    ("variant", "every"), [*((v, False) for v in CHOSEN), *(slow(v, True) for v in variants())]
)
def test_every_code_path_is_right(variant, every, device):
    """Rows that touch, and rows that begin anywhere; nothing beside the output is written."""
    for code_path in code_paths(launch.gpu_info(device)):
        if code_path.variant == variant and (every or (code_path.op, code_path.layout) in ONE_WAY):
            assert problem_of(code_path) is None, code_path


# a kernel of the frontier each: short, packed (part of a warp, two warps), rows, staged, spread
@pytest.mark.parametrize(
    "cols", [64, 201, 781, slow(1024), 8192, slow(8320), 50257, slow(131072), 2**20]
)
@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.float16), torch.bfloat16], ids=str)
def test_a_row_gives_the_same_bits_in_any_batch(cols, dtype, device):
    torch.manual_seed(cols)
    x = torch.randn(max(3, 2**24 // cols), cols, device=device).to(dtype)
    together = run("frontier", x)
    assert_rows_right(together[:300], x[:300])
    for row in (0, 1, len(x) // 2, len(x) - 1):
        assert torch.equal(run("frontier", x[row : row + 1]), together[row : row + 1])
        moved = torch.zeros(cols + 1, dtype=dtype, device=device)[1:]
        moved.copy_(x[row])
        assert torch.equal(run("frontier", moved[None]), together[row : row + 1])
    one = x[:1].expand(5, cols)
    assert torch.equal(run("frontier", one), together[:1].expand(5, cols))


# Each kernel of ``frontier``; a block and tiles of ``frontier_triton``, in whose error the rounding
# of x - max is, too. (variant, columns, limit as a multiple of torch's error)
CASES = [("frontier", cols, 1.0) for cols in (8, 256, 1024, 8191, 50257)]
CASES += [("frontier_triton", cols, 1.25) for cols in (256, 50257)]


@pytest.mark.parametrize("scale", [1, 4])
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("name", "cols", "limit"), CASES)
def test_the_largest_error_in_float32_is_at_most_that_of_torch(
    name, cols, limit, op, scale, device
):
    torch.manual_seed(cols)
    x = scale * torch.randn(2**22 // cols, cols, device=device)
    y = kernels.load(name).function(op)(x)
    assert largest_error(y, x, op) <= limit * largest_error(getattr(torch, op)(x, -1), x, op)
