"""The backward of every variant that has one, against float64: sizes, dtypes, strides, NaN."""

import pytest
import torch

import kernels
from measure import inputs
from measure.check import correctness
from tests.kernels.special import special_gradients
from tests.kernels.variants import parameters
from tests.marks import slow

OPS = ["softmax_backward", "log_softmax_backward"]
# Lengths by code path; `make test-all` adds neighbours of powers of two and a prime.
COLUMNS = [
    1,  # one element
    33,  # a block with a part that is masked
    1024,  # a block that is full
    16384,  # triton_backward's longest block; in cuda_backward a cluster's
    20000,  # tiles, the last of them in part
]
MORE = [2, 3, 31, 32, 781, 1025, 4096, 16385]

both = pytest.mark.parametrize("op", OPS)
every = pytest.mark.parametrize("name", parameters(kernels.names(OPS[0])))


def skip_if_unsupported(name, x) -> None:
    if reason := kernels.load(name).unsupported(x):
        pytest.skip(f"{name}: {reason}")


@pytest.mark.parametrize("columns", [COLUMNS, slow(MORE)], ids=["paths", "more"])
# 16 bits are one conversion in each kernel, and float16's is bfloat16's but in CUDA C++
@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.float16), torch.bfloat16], ids=str)
@both
@every
def test_any_number_of_columns(name, op, dtype, columns, device):
    variant, taken = kernels.load(name), 0
    function = variant.function(op)
    for seed, cols in enumerate(columns):
        read = inputs.draw_for(op, "normal", dtype, 3, cols, seed, device)
        if variant.unsupported(read[0]):
            continue
        taken += 1
        # Triton's interpreter truncates to bfloat16 instead of rounding
        truncates = "triton" in name and dtype == torch.bfloat16 and device.type == "cpu"
        rows = torch.arange(3, device=device)
        found = correctness.check_call(function, read, rows, op, truncates)
        assert found.problem is None, (cols, found.problem)
    assert taken >= 2


@pytest.mark.parametrize(
    ("cols", "gaps", "starts"),
    [(257, (3, 8, 5), (2, 8, 1)), (17000, (3, 8, 5), (2, 8, 1)), (17000, (8, 12, 4), (4, 8, 4))],
    ids=["a block", "tiles", "tiles, aligned"],
)
@both
@every
def test_non_contiguous_rows(name, op, cols, gaps, starts, device):
    """Row strides above N, another for each matrix; nothing between the rows is touched."""
    values = inputs.draw_for(op, "normal", torch.float32, 4, cols, 1, device)
    wide = [torch.full((4, cols + gap), 9.0, device=device) for gap in gaps]
    g, y, out = (w[:, start : start + cols] for w, start in zip(wide, starts, strict=True))
    skip_if_unsupported(name, g)
    g.copy_(values[0])
    y.copy_(values[1])
    dx = kernels.load(name).function(op)(g, y, out)
    assert dx.data_ptr() == out.data_ptr()
    assert correctness.check_rows(dx, values, op).problem is None
    assert (wide[2][:, : starts[2]] == 9).all()
    assert (wide[2][:, starts[2] + cols :] == 9).all()


@both
@every
def test_one_gradient_for_all_rows(name, op, device):
    """A row stride of 0, as the gradient of a mean or a sum has it."""
    _, y = inputs.draw_for(op, "normal", torch.float32, 4, 300, 1, device)
    g = torch.randn(300, device=device).expand(4, 300)
    dx = kernels.load(name).function(op)(g, y)
    assert correctness.check_rows(dx, (g, y), op).problem is None


@both
@every
# a block; tiles
@pytest.mark.parametrize("cols", [slow(5), 900, 17000])
def test_infinities_and_nan_as_torch_has_them(name, op, cols, device):
    g, y = special_gradients(op, cols, device)
    skip_if_unsupported(name, g)
    dx = kernels.load(name).function(op)(g, y)
    assert correctness.check_rows(dx, (g, y), op).problem is None
    assert dx[1:3].isnan().all()
    assert dx[3:].isfinite().all()


@pytest.mark.gpu
@pytest.mark.usefixtures("large")
@both
@every
def test_offsets_beyond_two_to_the_31(name, op, device):
    """M·N > 2^31: the last rows are where a 32-bit offset would wrap."""
    y = torch.zeros(2**31 // 4104 + 8, 4104, dtype=torch.bfloat16, device=device)
    g, ends = torch.zeros_like(y), (slice(0, 8), slice(-8, None))
    for seed, rows in enumerate(ends):
        g[rows], y[rows] = inputs.draw_for(op, "normal", y.dtype, 8, 4104, seed, device)
    dx = kernels.load(name).function(op)(g, y, torch.full_like(y, float("nan")))
    assert y.numel() > 2**31
    for rows in ends:
        assert correctness.check_rows(dx[rows], (g[rows], y[rows]), op).problem is None
