"""Every variant of ours against softmax in float64: sizes, dtypes, strides, rows not tame."""

import pytest
import torch

import kernels
from measure import gate
from tests.kernels.variants import CUDA, OFF_ONE, OURS, parameters, takes

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
NAMES = parameters(OURS)
# 1, powers of two and their neighbours, primes, a tile and more than a tile of triton_online
COLUMNS = [1, 2, 3, 17, 31, 32, 33, 127, 128, 129, 781, 1000, 1023, 1024, 1025, 2500, 4096, 4099]


LOG_NAMES = parameters(n for n in OURS if hasattr(kernels.load(n).module, "log_softmax"))


def assert_softmax(y, x, op="softmax"):
    problem = gate.check_result(y, x, None) or gate.check_values(y, x, op).problem
    assert problem is None, problem


def run(name, x, out=None, op="softmax"):
    variant = kernels.load(name)
    assert variant.unsupported(x) is None
    return variant.function(op)(x, out)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_columns(name, dtype, device):
    for seed, cols in enumerate(COLUMNS):
        torch.manual_seed(seed)
        for rows in (3, 4):
            x = (torch.randn(rows, cols, device=device) * 3).to(dtype)
            if not takes(name, cols):
                assert f"N = {cols}" in kernels.load(name).unsupported(x)
                continue
            before = x.clone()
            assert_softmax(run(name, x), x)
            assert torch.equal(x, before), "the input was changed"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", LOG_NAMES)
def test_log_softmax_of_any_number_of_columns(name, dtype, device):
    if device.type == "cpu" and name == "torch_softmax" and dtype != torch.float32:
        pytest.skip("torch on a CPU rounds x - max to 16 bits in between")
    if device.type == "cpu" and "triton" in name and dtype == torch.bfloat16:
        pytest.skip("Triton's interpreter truncates to bfloat16 instead of rounding")
    for seed, cols in enumerate(COLUMNS):
        torch.manual_seed(seed)
        x = (torch.randn(4, cols, device=device) * 3).to(dtype)
        if takes(name, cols):
            assert_softmax(run(name, x, op="log_softmax"), x, "log_softmax")


@pytest.mark.parametrize("name", LOG_NAMES)
def test_log_softmax_of_rows_that_are_not_tame(name, device):
    inf, nan = float("inf"), float("nan")
    x = torch.randn(6, 700, device=device)
    x[0] = -inf
    x[1, 300] = inf
    x[2, 699] = nan
    x[3, 1:] = -inf
    x[4] = torch.linspace(-3e38, 3e38, 700)
    x[5, ::2] = -inf
    y = run(name, x, op="log_softmax")
    assert_softmax(y, x, "log_softmax")
    assert y[3].tolist() == [0.0] + [-inf] * 699
    assert y[:3].isnan().all()


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
    assert run(name, one).item() == pytest.approx(1, rel=OFF_ONE.get(name, 0), abs=0)


# (first column of x, of out, columns): packs of 1, 2 and 4; an input aligned better than the output
APART = [(7, 3, 257), (6, 2, 258), (8, 4, 256), (8, 1, 256), (2, 8, 254)]


@pytest.mark.parametrize(("x_start", "out_start", "cols"), APART)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_rows_that_lie_apart(name, dtype, x_start, out_start, cols, device):
    """Row stride above N, in the input and in the output; nothing between the rows is touched."""
    torch.manual_seed(1)
    wide = torch.randn(6, 300, device=device).to(dtype)
    x = wide[:, x_start : x_start + cols]
    held = torch.full((6, 400), 9.0, dtype=dtype, device=device)
    out = held[:, out_start : out_start + cols]
    y = run(name, x, out)
    assert y.data_ptr() == out.data_ptr()
    assert_softmax(y, x)
    assert (held[:, :out_start] == 9).all()
    assert (held[:, out_start + cols :] == 9).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_row_for_all(name, device):
    """A row stride of 0, as expand() leaves it."""
    x = torch.randn(300, device=device).expand(7, 300)
    assert_softmax(run(name, x), x)


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_overlap(name, device):
    """A window over a series: torch.empty_like would lay out the result by columns."""
    x = torch.randn(34, device=device).unfold(0, 30, 1)
    assert_softmax(run(name, x), x)


@pytest.mark.parametrize("name", NAMES)
def test_large_magnitudes_do_not_overflow(name, device):
    for scale in (1e4, 1e30, 3e38):
        x = torch.tensor([[-scale, 0.0, scale], [scale, scale, -scale]], device=device)
        expected = torch.tensor([[0, 0, 1], [0.5, 0.5, 0]], device=device)
        torch.testing.assert_close(run(name, x), expected, rtol=OFF_ONE.get(name, 0), atol=0)
    x = torch.full((2, 1000), 60000.0, dtype=torch.float16, device=device)
    assert_softmax(run(name, x), x)


@pytest.mark.parametrize("cols", [5, 900, 5000])
@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan_as_torch_has_them(name, cols, device):
    if not takes(name, cols):
        pytest.skip(f"{name} does not take rows of {cols}")
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
    assert not y[3, :-1].any()
    assert y[3, -1].item() == pytest.approx(1, rel=OFF_ONE.get(name, 0), abs=0)


@pytest.mark.gpu
@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", NAMES)
def test_offsets_beyond_two_to_the_31(name, device):
    """M·N > 2^31: the last rows are where a 32-bit offset would wrap."""
    cols = 4100 if takes(name, 4100) else 1020
    x = torch.zeros(2**31 // cols + 8, cols, dtype=torch.bfloat16, device=device)
    torch.manual_seed(2)
    x[-8:] = torch.randn(8, cols, device=device).to(x.dtype)
    out = torch.full_like(x, float("nan"))
    run(name, x, out)
    assert x.numel() > 2**31
    assert_softmax(out[-8:], x[-8:])
    assert_softmax(out[:8], x[:8])


@pytest.mark.gpu
@pytest.mark.parametrize("name", CUDA)
def test_more_rows_than_the_gpu_holds_blocks(name, device):
    """Blocks walk over the rows: every row of many is right, the last ones too."""
    torch.manual_seed(3)
    x = torch.randn(700_001, 36, device=device)
    out = run(name, x, torch.full_like(x, float("nan")))
    assert_softmax(out, x)


@pytest.mark.gpu
@pytest.mark.parametrize("name", parameters(["cuda_oneflow", "cuda_oneflow_uncached"]))
def test_rows_longer_than_shared_memory(name, device):
    for cols in (58_000, 58_100, 65_537, 262_144):
        x = torch.randn(5, cols, device=device)
        assert_softmax(run(name, x), x)


@pytest.mark.gpu
def test_the_longest_row_that_shared_memory_holds(device):
    limit = torch.cuda.get_device_properties(device).shared_memory_per_block_optin
    longest = (limit - 32) // 4  # 32: four warps leave a maximum and a sum each
    smem = kernels.load("cuda_oneflow_smem")
    x = torch.randn(5, longest + 1, device=device)
    assert f"N = {longest + 1}" in smem.unsupported(x)
    assert_softmax(run("cuda_oneflow_smem", x[:, :longest].contiguous()), x[:, :longest])
