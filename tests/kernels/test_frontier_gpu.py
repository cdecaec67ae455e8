"""CUDA C++ kernels on a GPU, in every config: right, in place, and in any batch."""

import pytest
import torch

from kernels.cuda import launch
from kernels.dropin import rows as triton_rows
from tests.kernels.helpers.launches import launches, problem_of, variants
from tests.kernels.helpers.variants import DTYPES, assert_right, largest_error, run
from tests.marks import slow

pytestmark = pytest.mark.gpu

# Configs differ in numbers only, so `make test` runs one of each kernel, and the one that computes
# exps again.
CHOSEN = {variant.partition("__")[0]: variant for variant in variants()}
CHOSEN["exps again"] = "frontier_rows__k8w8r"
CONFIGS = [v if v in CHOSEN.values() else slow(v) for v in variants()]


@pytest.mark.parametrize("variant", CONFIGS)
def test_every_code_path_is_right(variant, device):
    """Rows that touch, and rows that begin anywhere; nothing beside the output is written."""
    gpu = launch.gpu_info(device)
    for each in launches(gpu):
        if each.variant == variant:
            assert problem_of(each) is None, each


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
# a kernel of the frontier each: short, packed, rows, staged, spread
@pytest.mark.parametrize(
    "cols", [64, 781, slow(1024), 8192, slow(8320), 50257, slow(131072), 2**20]
)
def test_a_row_gives_the_same_bits_in_any_batch_and_in_place(cols, dtype, device):
    """In place: as rows that the drop-in has widened, if a block reads them once."""
    torch.manual_seed(cols)
    x = torch.randn(max(3, 2**24 // cols), cols, device=device).to(dtype)
    together = run("frontier", x)
    assert_right(together[:300], x[:300])
    for row in (0, 1, len(x) // 2, len(x) - 1):
        assert torch.equal(run("frontier", x[row : row + 1]), together[row : row + 1])
        moved = torch.zeros(cols + 1, dtype=dtype, device=device)[1:]
        moved.copy_(x[row])
        assert torch.equal(run("frontier", moved[None]), together[row : row + 1])
    one = x[:1].expand(5, cols)
    assert torch.equal(run("frontier", one), together[:1].expand(5, cols))
    if cols <= 2**18:
        assert torch.equal(run("frontier", x, x), together)


@pytest.mark.parametrize("by", ["frontier", "Triton"])  # Triton: the drop-in's, on older GPUs
@pytest.mark.parametrize("cols", [8, 256, 1024, 8191, 50257])
def test_the_largest_error_in_float32_is_that_of_torch(cols, by, device):
    """Here the rounding of x - max dominates it, which no kernel can avoid."""
    torch.manual_seed(cols)
    x = 4 * torch.randn(2**22 // cols, cols, device=device)
    if by == "frontier":
        y = run("frontier", x)
    else:
        triton_rows.forward(x, y := torch.empty_like(x), *x.shape, cols, False)
    assert largest_error(y, x) <= 1.25 * largest_error(torch.softmax(x, -1), x)


@pytest.mark.usefixtures("large")
def test_a_matrix_beyond_two_to_the_31(device):
    """The last rows are where a 32-bit offset would wrap, in every kernel of the frontier."""
    for cols in (33, 64, 4100, 50257, 2**20):
        x = torch.zeros(2**31 // cols + 8, cols, dtype=torch.bfloat16, device=device)
        x[-8:] = torch.randn(8, cols, device=device)
        y = run("frontier", x)
        assert_right(y[-8:], x[-8:])
        assert_right(y[:8], x[:8])
        del x, y
