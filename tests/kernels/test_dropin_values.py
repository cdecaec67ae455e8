"""The drop-in's kernels, forward: ranks, dimensions, strides, dtypes, infinities and NaN."""

import pytest
import torch

import kernels
from kernels.dropin import launch as _dropin_run
from tests.kernels.dropin import DTYPES, OPS, assert_right, kinds, one_op, samples
from tests.kernels.special import special_rows
from tests.marks import slow

# Each reaches another kernel, or another config of it: a row in a block, a row in tiles, columns
# that are read once, columns in tiles, all of them with parts that are masked.
SHAPES = [
    ((7,), 0),
    ((5, 781), -1),
    ((2, 3, 4, 33), 3),
    ((2, 33_000), 1),
    ((6, 5), 0),
    ((2, 40, 3, 11), 1),
    ((300, 37), 0),
    ((2, 2100, 3), -2),
    ((3, 5, 1), 1),
    ((1, 1), 0),
]


@kinds
def test_torchs_own_samples(op, dtype, launches, device):
    count = 0
    for x, words, options in samples(op, device, dtype):
        y = getattr(kernels, op)(x, *words, **options)
        expected = getattr(torch, op)(x, *words, **options)
        if device.type == "cpu" and x.dtype != torch.float32:
            # torch on a CPU rounds x - max to 16 bits in between
            expected = getattr(torch, op)(x.double(), *words).to(expected.dtype)
        torch.testing.assert_close(y, expected, check_stride=True)
        count += x.numel() > 0 and x.dim() > 0 and torch.float64 not in options.values()
    assert len(launches) == count > 5


@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
@kinds
def test_any_rank_and_dimension(op, dtype, shape, dim, launches, device):
    torch.manual_seed(0)
    x = (torch.randn(shape, device=device) * 3).to(dtype)
    before = x.clone()
    assert_right(getattr(kernels, op)(x, dim), x, dim, op)
    assert torch.equal(x, before), "the input was changed"
    assert len(launches) == 1


# (a view of a (4, 6, 20) tensor, dimension, is it read as it lies)
VIEWS = {
    "columns of wider rows": (lambda t: t[:, :, 3:18], -1, True),
    "every second row": (lambda t: t[:, ::2], -1, True),
    "uneven rows": (lambda t: t[:, 1:5], -1, False),
    "one row for all": (lambda t: t[:1, :1].expand(4, 6, 20), 2, True),
    "some rows twice": (lambda t: t[:, :1].expand(4, 6, 20), 2, False),
    "one number for all": (lambda t: t[:1, :1, :1].expand(4, 6, 20), 2, False),
    "every second column": (lambda t: t[..., ::2], 2, False),
    "transposed": (lambda t: t.transpose(0, 2), 2, False),
    "rows in another order": (lambda t: t.transpose(0, 1), 2, False),
    "a contiguous tensor's middle": (lambda t: t, 1, True),
    "a view's middle": (lambda t: t[..., 3:18], 1, False),
    "channels last": (lambda t: t[None].to(memory_format=torch.channels_last), 3, False),
    "overlapping rows": (lambda t: t.as_strided((40, 16), (8, 1)), 1, True),
}


@pytest.mark.parametrize("view", VIEWS)
def test_any_strides(view, launches, device):
    make, dim, as_it_lies = VIEWS[view]
    torch.manual_seed(1)
    x = make(torch.randn(4, 6, 20, device=device))
    y = kernels.softmax(x, dim)
    assert_right(y, x, dim, "softmax")
    assert y.stride() == torch.softmax(x, dim).stride()
    (launch,) = launches
    assert (launch[1] == x.data_ptr()) == as_it_lies


@one_op
def test_long_non_contiguous_rows(op, launches, device):
    torch.manual_seed(1)
    x = torch.randn(2, 33_100, device=device)[:, 7:33_008]
    assert_right(getattr(kernels, op)(x, 1), x, 1, op)
    assert launches[0][1] == x.data_ptr()


@pytest.mark.parametrize("view", VIEWS)
def test_rows_have_one_distance_where_torch_can_view_them_as_a_matrix(view):
    x = VIEWS[view][0](torch.randn(4, 6, 20))
    try:
        matrix = x.view(-1, x.shape[-1])
    except RuntimeError:
        assert _dropin_run.row_stride(x) is None
    else:
        adjacent = matrix.stride(1) == 1
        assert _dropin_run.row_stride(x) == (matrix.stride(0) if adjacent else None)


@pytest.mark.parametrize("narrow", [slow(torch.float16), torch.bfloat16], ids=str)
@pytest.mark.parametrize("op", OPS)
def test_a_wider_dtype_is_written_without_a_copy(op, narrow, launches, device):
    torch.manual_seed(2)
    x = torch.randn(6, 300, device=device).to(narrow)[:, :257]
    for dim in (0, 1):
        y = getattr(kernels, op)(x, dim, dtype=torch.float32)
        assert y.dtype == torch.float32
        assert_right(y, x, dim, op)
    assert launches[1][1] == x.data_ptr()


@pytest.mark.parametrize("own", [slow(torch.float16), torch.float32, torch.bfloat16], ids=str)
@one_op
def test_an_input_is_cast_first(op, own, launches, device):
    """As torch has it: rounding the input changes the result by more than rounding that."""
    torch.manual_seed(3)
    x = (torch.randn(4, 50, device=device) * 20).to(own)
    for dtype in DTYPES:
        y = getattr(kernels, op)(x, 1, dtype=dtype)
        assert y.dtype == dtype
        assert torch.equal(y, getattr(kernels, op)(x.to(dtype), 1))
    assert len(launches) == 2 * len(DTYPES)
    assert getattr(kernels, op)(x, 1, dtype=torch.float64).dtype == torch.float64
    assert len(launches) == 2 * len(DTYPES)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (2, 0, 3)], ids=str)
@one_op
def test_nothing_in_nothing_out(op, shape, launches, device):
    for dtype in (None, torch.float32):
        x = torch.empty(shape, device=device, dtype=torch.float16, requires_grad=True)
        for dim in range(len(shape)):
            y, expected = (getattr(m, op)(x, dim, dtype=dtype) for m in (kernels, torch))
            assert (y.shape, y.dtype) == (expected.shape, expected.dtype)
            y.sum().backward()
            assert x.grad.shape == x.shape
    assert not launches


@pytest.mark.parametrize(("n", "inner"), [(5, 1), (33_000, 1), (40, 3), (2100, 3)])
@pytest.mark.parametrize("op", OPS)
def test_infinities_and_nan_as_torch_has_them(op, n, inner, launches, device):
    torch.manual_seed(4)
    x = special_rows(8, n, inner, device=device)
    x[4, 0, 0] = torch.nan  # in one column, where there are several
    x = x.squeeze(2) if inner == 1 else x
    y = getattr(kernels, op)(x, 1)
    expected = getattr(torch, op)(x.double(), 1)
    assert torch.equal(y.isnan(), expected.isnan())
    assert torch.equal(y.isinf(), expected.float().isinf())
    assert_right(y, x, 1, op)
    assert len(launches) == 1
