"""Every variant of ours against softmax in float64: sizes, dtypes, strides, infinities and NaN."""

import pytest
import torch

import kernels
from tests.kernels.special import HAS_NONE, INF, NAN, ONE_FINITE, special_rows
from tests.kernels.variants import DTYPES, OFF_ONE, OURS, assert_right, parameters, run, takes
from tests.marks import slow

NAMES = parameters(OURS)
LOGS = [name for name in OURS if hasattr(kernels.load(name).module, "log_softmax")]
# Lengths by code path; `make test-all` adds neighbours of powers of two and primes.
COLUMNS = [
    1,  # one element
    33,  # a block with a part that is masked; a warp and one more
    128,  # a block that is full; packs of 4 in CUDA C++
    1025,  # more than a warp's registers hold
    4099,  # more than a tile of triton_online, which ends within its second tile
]
MORE = [2, 3, 17, 31, 32, 127, 129, 781, 1000, 1023, 1024, 2500, 4096, 16385]


def ops(name, dtype, device):
    """The operations that a variant has and that can be judged here."""
    yield "softmax"
    # torch on a CPU rounds x - max to 16 bits in between; Triton's interpreter truncates to
    # bfloat16 instead of rounding
    inexact = {"torch_softmax": DTYPES[1:], "triton_row": [torch.bfloat16]}
    if name in LOGS and not (device.type == "cpu" and dtype in inexact.get(name, ())):
        yield "log_softmax"


@pytest.mark.parametrize("columns", [COLUMNS, slow(MORE)], ids=["paths", "more"])
# the conversion to 16 bits is one line of each kernel, and float16's is bfloat16's but in CUDA C++
@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.float16), torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_columns(name, dtype, columns, device):
    for seed, cols in enumerate(columns):
        torch.manual_seed(seed)
        for rows in (3, 4):  # where M is even, cuda_oneflow_warp has two rows at once
            x = (torch.randn(rows, cols, device=device) * 3).to(dtype)
            if not takes(name, cols):
                assert f"N = {cols}" in kernels.load(name).unsupported(x)
                continue
            before = x.clone()
            for op in ops(name, dtype, device):
                assert_right(run(name, x, op=op), x, op)
            assert torch.equal(x, before), "the input was changed"


@pytest.mark.parametrize("name", NAMES)
def test_more_rows_than_programs(name, device):
    """Every row is right, the last ones too. Triton's interpreter has four persistent programs."""
    rows, cols = (700_001, 36) if device.type == "cuda" else (13, 29)
    torch.manual_seed(3)
    x = torch.randn(rows, cols, device=device)
    assert_right(run(name, x, torch.full_like(x, NAN)), x)


# (first column of x, of out, columns): packs of 1, 2 and 4; an input aligned better than the output
APART = [(7, 3, 257), (6, 2, 258), (8, 4, 256), (8, 1, 256), (2, 8, 254)]


# strides are counted in elements, whatever the type
@pytest.mark.parametrize("dtype", [torch.float32, *map(slow, DTYPES[1:])], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_non_contiguous_rows(name, dtype, device):
    """Row stride above N, in the input and in the output; nothing between the rows is touched."""
    for case in APART:
        torch.manual_seed(1)
        x_start, out_start, cols = case
        wide = torch.randn(6, 300, device=device).to(dtype)
        x = wide[:, x_start : x_start + cols]
        held = torch.full((6, 400), 9.0, dtype=dtype, device=device)
        out = held[:, out_start : out_start + cols]
        assert_right(run(name, x, out), x, out=out)
        assert (held[:, :out_start] == 9).all(), case
        assert (held[:, out_start + cols :] == 9).all(), case


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_share_memory(name, device):
    """A row stride of 0, and a window over a series, like which torch lays out no result."""
    for x in (
        torch.randn(300, device=device).expand(7, 300),
        torch.randn(34, device=device).unfold(0, 30, 1),
    ):
        assert_right(run(name, x), x)


@pytest.mark.parametrize("name", NAMES)
def test_one_element_and_large_magnitudes(name, device):
    for dtype in DTYPES:
        one = torch.full((1, 1), -7.0, dtype=dtype, device=device)
        assert run(name, one).item() == pytest.approx(1, rel=OFF_ONE.get(name, 0), abs=0)
    for scale in (1e4, 1e30, 3e38):
        x = torch.tensor([[-scale, 0.0, scale], [scale, scale, -scale]], device=device)
        expected = torch.tensor([[0, 0, 1], [0.5, 0.5, 0]], device=device)
        torch.testing.assert_close(run(name, x), expected, rtol=OFF_ONE.get(name, 0), atol=0)
    x = torch.full((2, 1000), 60000.0, dtype=torch.float16, device=device)
    assert_right(run(name, x), x)


# 700: one block of any kernel; 17000: a tile of which nothing is finite, then others, in all that
# have tiles. 5: fewer columns than a warp has lanes.
@pytest.mark.parametrize("cols", [slow(5), 700, 17_000])
@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan_as_torch_has_them(name, cols, device):
    if not takes(name, cols):
        pytest.skip(f"{name} does not take rows of {cols}")
    x = special_rows(8, cols, device=device)
    for op in ops(name, x.dtype, device):
        expected = getattr(torch, op)(x.double(), dim=-1)
        assert expected[HAS_NONE].isnan().all(), "torch's own behaviour changed"
        y = run(name, x, op=op)
        assert torch.equal(y.isnan(), expected.isnan()), op
        assert_right(y, x, op)
        lost, kept = (0, 1) if op == "softmax" else (-INF, 0)
        for row, at in ONE_FINITE:
            assert (y[row] == lost).sum() == cols - 1
            off = OFF_ONE.get(name, 0)
            assert y[row, at].item() == pytest.approx(kept, rel=off, abs=0)


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
    assert_right(out[-8:], x[-8:])
    assert_right(out[:8], x[:8])


@pytest.mark.gpu
def test_the_longest_row_that_shared_memory_holds_and_one_more(device):
    limit = torch.cuda.get_device_properties(device).shared_memory_per_block_optin
    longest = (limit - 32) // 4  # 32: four warps leave a maximum and a sum each
    x = torch.randn(5, longest + 1, device=device)
    assert f"N = {longest + 1}" in kernels.load("cuda_oneflow_smem").unsupported(x)
    for name, cols in (("cuda_oneflow_smem", longest), ("cuda_oneflow", longest + 1)):
        assert_right(run(name, x[:, :cols].contiguous()), x[:, :cols])
