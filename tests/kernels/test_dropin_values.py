"""The drop-in's kernels, forward and backward, against float64: ranks, strides, dtypes, NaN."""

import contextlib

import pytest
import torch

import kernels
from kernels.dropin.library_function import fits_index_range
from tests.kernels.helpers.dropin import (
    OPS,
    assert_gradient,
    assert_right,
    kinds,
    one_op,
    samples,
    special_rows,
)
from tests.marks import slow

# Each reaches another kernel, or another config of it: a row in a block, a row in tiles, columns in
# one tile, columns in several, all of them with parts that are masked. Chunks: test_dropin_bits.py.
SHAPES = [((7,), 0), ((2, 3, 4, 33), 3), ((2, 33_000), -1), ((6, 5), 0), ((2, 40, 3, 11), 1)]
SHAPES += [((300, 37), 0), ((2, 2100, 3), -2), ((3, 5, 1), 1), ((1, 1), 0)]
# Tolerance of torch's gradients, for which it rounds y, too.
LOOSE = {torch.float16: {"rtol": 5e-3, "atol": 5e-3}, torch.bfloat16: {"rtol": 0.05, "atol": 0.05}}


@pytest.mark.parametrize("replaced", [False, True])
@kinds
def test_torchs_own_samples(op, dtype, replaced, launches, device):
    """The drop-in's function, and torch's own under ``replace_torch``."""
    count = 0
    for x, words, options in samples(op, device, dtype):
        ours, torchs = (x.clone().requires_grad_() for _ in range(2))
        with kernels.replace_torch() if replaced else contextlib.nullcontext():
            y = getattr(torch if replaced else kernels, op)(ours, *words, **options)
            g = torch.randn_like(y)
            y.backward(g)
        # a sample has no element, and one has no dimension: torch computes them
        count += x.numel() > 0 and x.dim() > 0 and torch.float64 not in options.values()
        expected = getattr(torch, op)(torchs, *words, **options)
        expected.backward(g)
        torch.testing.assert_close(ours.grad, torchs.grad, **LOOSE.get(dtype, {}))
        if device.type == "cpu" and x.dtype != torch.float32:
            # torch on a CPU rounds x - max to 16 bits in between
            expected = getattr(torch, op)(x.double(), *words).to(y.dtype)
        torch.testing.assert_close(y, expected, check_stride=True)
    assert [name for name, *_ in launches].count(op) == count > 5


@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
@kinds
def test_any_rank_and_dimension(op, dtype, shape, dim, launches, device):
    torch.manual_seed(0)
    x = (torch.randn(shape, device=device) * 3).to(dtype).requires_grad_()
    before = x.detach().clone()
    y = getattr(kernels, op)(x, dim)
    assert_right(y.detach(), before, dim, op)
    g = torch.randn_like(y)
    y.backward(g)
    assert_gradient(x.grad, g, y, dim, op)
    assert torch.equal(x, before), "the input was changed"
    assert len(launches) == 2


# (a view of a (4, 6, 20) tensor, dimension, whether it is read in place)
VIEWS = {
    "columns of wider rows": (lambda t: t[:, :, 3:18], -1, True),
    "uneven rows": (lambda t: t[:, 1:5], -1, False),
    "one row for all": (lambda t: t[:1, :1].expand(4, 6, 20), 2, True),
    "one number for all": (lambda t: t[:1, :1, :1].expand(4, 6, 20), 2, False),
    "every second column": (lambda t: t[..., ::2], 2, False),
    "rows in another order": (lambda t: t.transpose(0, 1), 2, False),
    "a contiguous tensor's middle": (lambda t: t, 1, True),
    "a view's middle": (lambda t: t[..., 3:18], 1, False),
    "channels last": (lambda t: t[None].to(memory_format=torch.channels_last), 3, False),
    "overlapping rows": (lambda t: t.as_strided((40, 16), (8, 1)), 1, True),
}


@pytest.mark.parametrize("view", VIEWS)
def test_any_strides(view, launches, device):
    make, dim, in_place = VIEWS[view]
    torch.manual_seed(1)
    x = make(torch.randn(4, 6, 20, device=device))
    y = kernels.softmax(x, dim)
    assert_right(y, x, dim, "softmax")
    assert y.stride() == torch.softmax(x, dim).stride()
    (launch,) = launches
    assert (launch[1] == x.data_ptr()) == in_place


@pytest.mark.parametrize("view", ["one number for all", "one row for all", "columns of wider rows"])
@one_op
def test_any_strides_of_the_incoming_gradient(op, view, launches, device):
    make, _, in_place = VIEWS[view]
    torch.manual_seed(1)
    for dim in (2, 1):
        g = make(torch.randn(4, 6, 20, device=device))
        x = torch.randn(g.transpose(0, 1).shape, device=device).transpose(0, 1).requires_grad_()
        y = getattr(kernels, op)(x, dim)
        y.backward(g)
        assert_gradient(x.grad, g, y, dim, op)
        assert (launches[-1][1] == g.data_ptr()) == (in_place and dim == 2)


# Rows of a warp and of several blocks. On a GPU also a longer one in shared memory, and one of
# several tiles for each block.
CONVERTED = 257, 33_001, 2**18 - 1, 2**23 + 1


@pytest.mark.parametrize("narrow", [slow(torch.float16), torch.bfloat16], ids=str)
@one_op
def test_through_another_dtype(op, narrow, launches, device):
    """float32 out of 16 bits is written without a copy; the gradient comes so, and leaves in 16.

    Any other cast comes first, as torch has it: rounding the input changes more.
    """
    torch.manual_seed(2)
    for input_dtype, dtype in ((narrow, torch.float32), (torch.float32, narrow)):
        for cols in CONVERTED if device.type == "cuda" else CONVERTED[:2]:
            x = torch.randn(3, cols + 9, device=device).to(input_dtype)[:, :cols].requires_grad_()
            y = getattr(kernels, op)(x, 1, dtype=dtype)
            assert_right(y.detach(), x.detach().to(dtype), 1, op)
            assert (launches[-1][1] == x.data_ptr()) == (input_dtype == narrow)
            g = torch.randn_like(y)
            (dx,) = torch.autograd.grad(y, x, g)
            assert dx.dtype == input_dtype
            assert_gradient(dx.to(narrow), g, y, 1, op)
    assert len(launches) == (16 if device.type == "cuda" else 8)


@pytest.mark.parametrize(("n", "inner"), [(5, 1), (33_000, 1), (40, 3), (2100, 3)])
@pytest.mark.parametrize("op", OPS)
def test_infinities_and_nan_as_torch_has_them(op, n, inner, launches, device):
    torch.manual_seed(4)
    x = special_rows(8, n, inner, device=device)
    x[4, 0, 0] = torch.nan  # one column of several
    x = x.squeeze(2) if inner == 1 else x
    gradients = []
    for module in (kernels, torch):
        leaf = x.clone().requires_grad_()
        y = getattr(module, op)(leaf, 1)
        y[..., :6].cos().sum().backward()
        gradients.append(leaf.grad)
        if module is kernels:
            assert_right(y.detach(), x, 1, op)
    torch.testing.assert_close(*gradients, equal_nan=True, rtol=1e-4, atol=1e-4)
    assert len(launches) == 2


@pytest.mark.parametrize("op", OPS)
def test_second_derivatives_are_torchs(op, launches, device):
    torch.manual_seed(3)
    x, g = torch.randn(2, 3, 4, 5, device=device)
    derivatives = []
    for module in (kernels, torch):
        leaf, seed = x.clone().requires_grad_(), g.clone().requires_grad_()
        (dx,) = torch.autograd.grad(getattr(module, op)(leaf, 1), leaf, seed, create_graph=True)
        derivatives.append(torch.autograd.grad(dx.square().sum(), (leaf, seed)))
    torch.testing.assert_close(*derivatives)
    assert len(launches) >= 2


def test_a_result_that_was_changed_is_noticed(launches, device):
    """The backward needs y; torch says so rather than to compute with what is there now."""
    y = kernels.softmax(torch.randn(3, 4, device=device, requires_grad=True), 1)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("numel", "n", "takes"),
    [
        (0, 4, False),
        (2**31 - 33, 1, True),
        (2**31 - 32, 1, False),  # the next multiple of 32 columns wraps
        (2 * (2**31 - 1), 2, False),
        (2**31, 2**30, True),
        (2**31, 2**30 + 1, False),
    ],
)
def test_sizes_that_a_kernel_cannot_count_are_torchs(numel, n, takes):
    assert fits_index_range(numel, n) == takes
