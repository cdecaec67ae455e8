"""Every variant against softmax in float64: sizes, dtypes, strides, and rows that are not tame."""

import pytest
import torch

import kernels
from measure import gate

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
NAMES = kernels.names()
# 1, powers of two and their neighbours, primes, a tile and more than a tile of triton_online
COLUMNS = [1, 2, 3, 17, 31, 32, 33, 127, 128, 129, 781, 1000, 1023, 1024, 1025, 2500, 4096, 4099]


def assert_softmax(y, x):
    problem = gate.check_result(y, x, None) or gate.check_values(y, x).problem
    assert problem is None, problem


def run(name, x, out=None):
    variant = kernels.load(name)
    assert variant.unsupported(x) is None
    return variant.softmax(x, out)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_columns(name, dtype, device):
    for seed, cols in enumerate(COLUMNS):
        torch.manual_seed(seed)
        x = (torch.randn(3, cols, device=device) * 3).to(dtype)
        before = x.clone()
        assert_softmax(run(name, x), x)
        assert torch.equal(x, before), "the input was changed"


@pytest.mark.parametrize("name", NAMES)
def test_more_rows_than_a_gpu_has_programs(name, device):
    torch.manual_seed(0)
    x = torch.randn(1823, 781, device=device)  # the Triton tutorial's awkward shape
    assert_softmax(run(name, x), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_single_row_and_a_single_element(name, dtype, device):
    x = torch.randn(1, 300, device=device).to(dtype)
    assert_softmax(run(name, x), x)
    one = torch.full((1, 1), -7.0, dtype=dtype, device=device)
    assert run(name, one).item() == 1.0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_rows_that_lie_apart(name, dtype, device):
    """Row stride above N, in the input and in the output; nothing between the rows is touched."""
    torch.manual_seed(1)
    wide = torch.randn(5, 300, device=device).to(dtype)
    x = wide[:, 7:264]
    held = torch.full((5, 400), 9.0, dtype=dtype, device=device)
    out = held[:, 3:260]
    y = run(name, x, out)
    assert y.data_ptr() == out.data_ptr()
    assert_softmax(y, x)
    assert (held[:, :3] == 9).all()
    assert (held[:, 260:] == 9).all()


@pytest.mark.parametrize("name", NAMES)
def test_large_magnitudes_do_not_overflow(name, device):
    for scale in (1e4, 1e30, 3e38):
        x = torch.tensor([[-scale, 0.0, scale], [scale, scale, -scale]], device=device)
        assert run(name, x).tolist() == [[0, 0, 1], [0.5, 0.5, 0]]
    x = torch.full((2, 5000), 60000.0, dtype=torch.float16, device=device)
    assert_softmax(run(name, x), x)


@pytest.mark.parametrize("cols", [5, 5000])
@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan_as_torch_has_them(name, cols, device):
    inf, nan = float("inf"), float("nan")
    x = torch.randn(6, cols, device=device)
    x[0] = -inf
    x[1, cols // 2] = inf
    x[2, cols - 1] = nan
    x[3, : cols - 1] = -inf  # one finite value
    x[4, ::2] = -inf
    expected = torch.softmax(x.double(), dim=-1)
    for row in (0, 1, 2):
        assert expected[row].isnan().all(), "torch's own behaviour changed"
    y = run(name, x)
    assert torch.equal(y.isnan(), expected.isnan())
    assert_softmax(y, x)
    assert y[3].tolist() == [0.0] * (cols - 1) + [1.0]


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_offsets_beyond_two_to_the_31(name, device):
    """M·N > 2^31: the last rows are where a 32-bit offset would wrap."""
    x = torch.zeros(2**19 + 8, 4100, dtype=torch.bfloat16, device=device)
    torch.manual_seed(2)
    x[-8:] = torch.randn(8, 4100, device=device).to(x.dtype)
    out = torch.full_like(x, float("nan"))
    run(name, x, out)
    assert_softmax(out[-8:], x[-8:])
    assert_softmax(out[:8], x[:8])
