"""The backward of every variant that has one, against float64: sizes, dtypes, strides, not tame."""

import pytest
import torch

import kernels
from measure import gate, inputs
from tests.kernels.variants import parameters

OPS = ["softmax_backward", "log_softmax_backward"]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
# 1, powers of two and their neighbours, a prime; triton_backward's longest block, and tiles
COLUMNS = [1, 2, 3, 31, 32, 33, 781, 1024, 1025, 4096, 16384, 16385, 20000]

both = pytest.mark.parametrize("op", OPS)
every = pytest.mark.parametrize("name", parameters(kernels.names(OPS[0])))


def truncates(name, dtype, device) -> bool:
    """Triton's interpreter truncates to bfloat16 instead of rounding."""
    return "triton" in name and dtype == torch.bfloat16 and device.type == "cpu"


def skip_if_unsupported(name, x) -> None:
    if reason := kernels.load(name).unsupported(x):
        pytest.skip(f"{name}: {reason}")


@both
@every
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_number_of_columns(name, op, dtype, device):
    variant, taken = kernels.load(name), 0
    function = variant.function(op)
    for seed, cols in enumerate(COLUMNS):
        read = inputs.draw_for(op, "normal", dtype, 3, cols, seed, device)
        if variant.unsupported(read[0]):
            continue
        taken += 1
        found = gate.check_call(
            function, read, torch.arange(3, device=device), op, truncates(name, dtype, device)
        )
        assert found.problem is None, (cols, found.problem)
    assert taken >= 3


@both
@every
@pytest.mark.parametrize(
    ("cols", "gaps", "starts"),
    [(257, (3, 8, 5), (2, 8, 1)), (17000, (3, 8, 5), (2, 8, 1)), (17000, (8, 12, 4), (4, 8, 4))],
    ids=["257", "17000", "17000 in whole words"],
)
def test_rows_that_lie_apart(name, op, cols, gaps, starts, device):
    """Row strides above N, another for each matrix; nothing between the rows is touched."""
    values = inputs.draw_for(op, "normal", torch.float32, 4, cols, 1, device)
    wide = [torch.full((4, cols + gap), 9.0, device=device) for gap in gaps]
    g, y, out = (w[:, start : start + cols] for w, start in zip(wide, starts, strict=True))
    skip_if_unsupported(name, g)
    g.copy_(values[0])
    y.copy_(values[1])
    dx = kernels.load(name).function(op)(g, y, out)
    assert dx.data_ptr() == out.data_ptr()
    assert gate.check_rows(dx, values, op).problem is None
    assert (wide[2][:, : starts[2]] == 9).all()
    assert (wide[2][:, starts[2] + cols :] == 9).all()


@both
@every
def test_one_gradient_for_all_rows(name, op, device):
    """A row stride of 0, as the gradient of a mean or a sum has it."""
    _, y = inputs.draw_for(op, "normal", torch.float32, 4, 300, 1, device)
    g = torch.randn(300, device=device).expand(4, 300)
    dx = kernels.load(name).function(op)(g, y)
    assert gate.check_rows(dx, (g, y), op).problem is None


@both
@every
@pytest.mark.parametrize("cols", [5, 900, 17000])
def test_infinities_and_nan_as_torch_has_them(name, op, cols, device):
    g, y = inputs.draw_for(op, "normal", torch.float32, 5, cols, 2, device)
    skip_if_unsupported(name, g)
    g[0, cols // 2] = torch.inf
    g[1, cols - 1] = torch.nan
    y[2] = torch.nan
    y[3, : cols - 1] = 0 if op == "softmax_backward" else -torch.inf
    y[3, cols - 1] = 1 if op == "softmax_backward" else 0
    dx = kernels.load(name).function(op)(g, y)
    assert gate.check_rows(dx, (g, y), op).problem is None
    assert dx[1:3].isnan().all()
    assert dx[3:].isfinite().all()


@both
@every
def test_it_is_the_derivative_that_autograd_takes(name, op, device):
    x = torch.randn(4, 500, device=device, requires_grad=True)
    y = inputs.forward(op, x)
    g = torch.randn(4, 500, device=device)
    (expected,) = torch.autograd.grad(y, x, g)
    dx = kernels.load(name).function(op)(g, y.detach())
    torch.testing.assert_close(dx, expected, rtol=1e-4, atol=1e-5)


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
        assert gate.check_rows(dx[rows], (g[rows], y[rows]), op).problem is None
