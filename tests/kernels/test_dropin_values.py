"""The drop-in's kernels, forward and backward, against float64: ranks, strides, dtypes, NaN."""

import contextlib
from unittest import mock

import numpy as np
import pytest
import torch
from triton.runtime import interpreter

import kernels
from kernels.dropin import routes, triton_columns
from kernels.dropin.functions import FUNCTIONS
from kernels.dropin.operation import Call, can_count
from kernels.frontier.backward import cuda_backward, triton_backward
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

GRADIENTS = {function.name: function.gradient for function in FUNCTIONS}

# Each reaches another kernel, or another config of it: a row in a block, a row in tiles, columns in
# one tile, columns in several, all of them with parts that are masked. Chunks are tested below.
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
    for own, dtype in ((narrow, torch.float32), (torch.float32, narrow)):
        for cols in CONVERTED if device.type == "cuda" else CONVERTED[:2]:
            x = torch.randn(3, cols + 9, device=device).to(own)[:, :cols].requires_grad_()
            y = getattr(kernels, op)(x, 1, dtype=dtype)
            assert_right(y.detach(), x.detach().to(dtype), 1, op)
            assert (launches[-1][1] == x.data_ptr()) == (own == narrow)
            g = torch.randn_like(y)
            (dx,) = torch.autograd.grad(y, x, g)
            assert dx.dtype == own
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
        own = x.clone().requires_grad_()
        y = getattr(module, op)(own, 1)
        y[..., :6].cos().sum().backward()
        gradients.append(own.grad)
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
        own, seed = x.clone().requires_grad_(), g.clone().requires_grad_()
        (dx,) = torch.autograd.grad(getattr(module, op)(own, 1), own, seed, create_graph=True)
        derivatives.append(torch.autograd.grad(dx.square().sum(), (own, seed)))
    torch.testing.assert_close(*derivatives)
    assert len(launches) >= 2


def test_a_result_that_was_changed_is_noticed(launches, device):
    """The backward needs y; torch says so rather than to compute with what is there now."""
    y = kernels.softmax(torch.randn(3, 4, device=device, requires_grad=True), 1)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("dtype", "out_dtype", "cols", "by_cuda"),
    [
        (torch.float32, torch.float32, 508, False),
        (torch.float32, torch.float32, 4100, True),
        (torch.float32, torch.float32, 191, False),  # no multiple of 16 bytes
        (torch.float32, torch.bfloat16, 191, False),
        (torch.float32, torch.bfloat16, 193, True),
        (torch.bfloat16, torch.float32, 513, False),  # no kernel in CUDA C++ takes it
        (torch.bfloat16, torch.bfloat16, 385, True),
        (torch.bfloat16, torch.bfloat16, 513, True),
        (torch.bfloat16, torch.bfloat16, 2**22, False),  # cuda_backward returns False
    ],
)
def test_the_length_and_dtypes_of_a_row_choose_its_backward(
    dtype, out_dtype, cols, by_cuda, monkeypatch
):
    asked, by_triton = mock.Mock(return_value=cols < 2**20), mock.Mock()
    monkeypatch.setattr(routes, "cuda_kernels", lambda _: mock.Mock(backward=asked))
    monkeypatch.setattr(triton_backward, "launch", by_triton)
    y, dx = torch.empty(1, dtype=dtype), torch.empty(1, dtype=out_dtype)
    for rows in (1, 2**20):
        GRADIENTS["softmax"]._first_that_works(Call(dx, (y, y), rows, cols, 1, cols))
    assert by_triton.call_count == 2 * (not by_cuda)
    assert asked.call_count == 2 * (by_cuda or cols > 2**20)


# Gradients, and an input whose second share is the largest: the first gradient less their mean is
# infinite in float32.
LARGE, UNEVEN = (3e38, -3e38, 1.0, 0.0), (0.0, 2.0, 0.3, 0.4)
LARGEST = torch.finfo(torch.float32).max


@pytest.mark.parametrize("dim", [1, 0])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_gradient_is_finite_where_torchs_on_a_gpu_is(replaced, dim, launches, device):
    """In the kernels of rows and of columns; and the derivative of the derivative."""
    g = torch.tensor([LARGE, LARGE[::-1]], device=device)
    x = torch.tensor([UNEVEN, UNEVEN[::-1]], device=device)
    if dim == 0:
        g, x = g.t().contiguous(), x.t().contiguous()
    gradients = []
    for module, dtype in ((torch if replaced else kernels, x.dtype), (torch, torch.float64)):
        own, seed = x.to(dtype).requires_grad_(), g.to(dtype).requires_grad_()
        with kernels.replace_torch() if replaced and not gradients else contextlib.nullcontext():
            (dx,) = torch.autograd.grad(module.softmax(own, dim), own, seed, create_graph=True)
            gradients.append([dx])
        if not replaced:  # torch's own on a CPU overflows
            gradients[-1] += torch.autograd.grad(dx, seed, g.to(dtype))
    for ours, exact in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, exact.float(), rtol=1e-5, atol=1e32)
    assert launches


def test_a_long_row_s_gradient_does_not_overflow_either(emulated):
    """In CUDA C++, on one block."""
    x, g = torch.full((3, 5000), -10.0), torch.zeros(3, 5000)
    x[:, :4], g[:, :4] = torch.tensor(UNEVEN), torch.tensor(LARGE)
    g[2] = LARGEST
    y = torch.softmax(x, 1)
    expected = torch._softmax_backward_data(g.double(), y.double(), 1, torch.float64)
    dx = emulated.run(cuda_backward.plan, (g, y))
    torch.testing.assert_close(dx, expected.float(), rtol=1e-5, atol=1e32)


@pytest.mark.parametrize(("n", "dim"), [(7, 0), (7, 1), (300, 0), (17_000, 1)])
def test_the_largest_gradients_do_not_overflow_a_sum_of_shares_above_1(n, dim, launches, device):
    """One tile of columns, a row in a block, columns in tiles, a row in tiles."""
    torch.manual_seed(5)
    y = torch.softmax(torch.randn(n, 20 if n < 1000 else 4, device=device), 0)
    assert (y.sum(0) > 1).any()
    y = y if dim == 0 else y.t().contiguous()
    for g in (torch.full_like(y, LARGEST), LARGEST * torch.randn_like(y).sign()):
        dx = GRADIENTS["softmax"].compute(g, y, dim, y.dtype)
        expected = torch._softmax_backward_data(g.double(), y.double(), dim, torch.float64)
        torch.testing.assert_close(dx, expected.float(), rtol=1e-5, atol=1e-6 * LARGEST)
    assert len(launches) == 2


# One tile; tiles, the last not full; chunks, the last not full, which are shorter here.
LENGTHS = 40, 300, 700
lengths = pytest.mark.parametrize("n", LENGTHS)


@pytest.fixture
def short_chunks(n, monkeypatch):
    if n == LENGTHS[-1]:
        monkeypatch.setattr(triton_columns, "CHUNK", 256)


@lengths
@kinds
@pytest.mark.usefixtures("short_chunks")
def test_a_column_gives_the_same_bits_beside_any_others(
    op, dtype, n, launches, device, monkeypatch
):
    """Alone, too; at any address; between others; and when one program takes all its chunks."""
    torch.manual_seed(6)
    x, g = (torch.randn(n, 40, device=device).to(dtype) for _ in range(2))

    def answers(x, g, dim=0):
        x = x.requires_grad_()
        y = getattr(kernels, op)(x, dim)
        return y.detach(), torch.autograd.grad(y, x, g)[0]

    wide = answers(x.clone(), g)
    assert_right(wide[0], x, 0, op)
    assert_gradient(wide[1], g, wide[0], 0, op)
    for inner in (1, 3, 20):
        for start in (0, 1):
            own = (torch.empty(n * inner + 1, dtype=dtype, device=device) for _ in range(2))
            parts = [
                t[start : start + n * inner].view(n, inner).copy_(whole[:, :inner])
                for t, whole in zip(own, (x, g), strict=True)
            ]
            assert all(map(torch.equal, answers(*parts), (t[:, :inner] for t in wide))), inner
    monkeypatch.setattr(triton_columns, "ENOUGH_PROGRAMS", 1)
    between = answers(*(torch.stack([t.flip(0), t, t.flip(0)])[:, :, :5] for t in (x, g)), 1)
    assert all(torch.equal(ours[1], t[:, :5]) for ours, t in zip(between, wide, strict=True))


@pytest.mark.parametrize("times", [1, 4])
@lengths
@pytest.mark.parametrize("op", OPS)
@pytest.mark.usefixtures("short_chunks")
def test_the_largest_error_of_columns_in_float32_is_at_most_torchs(
    op, n, times, launches, device, monkeypatch
):
    if device.type == "cpu":  # the interpreter rounds twice
        monkeypatch.setattr(interpreter.InterpreterBuilder, "create_fma", rounded_once)
    torch.manual_seed(n)
    columns = 2**22 // n if device.type == "cuda" else max(4, 600 // n)
    x = times * torch.randn(n, columns, device=device)
    exact = getattr(torch, op)(x.double(), 0)
    ours, torchs = (
        ((getattr(module, op)(x, 0).double() - exact) / exact).abs().max().item()
        for module in (kernels, torch)
    )
    assert ours <= torchs


def rounded_once(_, x, y, z):
    """Return x·y + z of float32 arrays as a GPU's fma does, for Triton's interpreter."""
    product = x.data.astype(np.float64) * y.data.astype(np.float64)  # exact
    total = (product + z.data.astype(np.float64)).astype(np.float32)
    return interpreter.TensorHandle(total, z.dtype.scalar)


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
    assert can_count(numel, n) == takes


@pytest.mark.parametrize(
    ("cols", "start", "stride", "copied"),
    [
        (64, 0, 64, False),
        (64, 1, 64, True),
        (64, 0, 72, True),
        (64, 0, 80, False),
        (60, 0, 60, False),
        (60, 3, 61, False),
        (60, 0, 64, True),  # Triton would take it as aligned, and contiguous rows of 60 not
    ],
)
def test_triton_gets_rows_aligned_as_contiguous_ones_are(cols, start, stride, copied, device):
    """It has another instance for each, which adds the elements of a row in another order."""
    x = torch.randn(8 + 3 * stride, device=device).as_strided((3, cols), (stride, 1), start)
    rows, row_stride = routes._as_contiguous_rows(x, 3, cols, stride)
    assert torch.equal(rows, x)
    assert (rows is not x, row_stride) == (copied, cols if copied else stride)
    one, row_stride = routes._as_contiguous_rows(x[:1], 1, cols, stride)
    assert one.data_ptr() == x.data_ptr() or (start and cols == 64)
    assert row_stride == cols


@pytest.mark.parametrize("cols", [64, 60])
@pytest.mark.parametrize("op", OPS)
def test_triton_gets_aligned_outputs(op, cols, device, monkeypatch):
    """An output that begins elsewhere gets a copy, forward and backward."""
    x, g = torch.randn(2, 3, cols, device=device)
    log, results = "log" in op, []
    for start in (0, 1):
        stores = [torch.empty(3 * cols + 1, device=device) for _ in range(2)]
        y, dx = (store[start:][: 3 * cols].view(3, cols) for store in stores)
        assert (routes._aligned_output(y, cols) is y) == (start == 0 or cols == 60)
        routes.triton_forward(log, Call(y, (x,), 3, cols, 1, cols))
        routes.triton_backward(log, Call(dx, (g, y), 3, cols, 1, cols))
        assert_right(y, x, 1, op)
        assert_gradient(dx, g, y, 1, op)
        results.append((y, dx))
    assert all(map(torch.equal, *results))


@pytest.mark.gpu
@pytest.mark.parametrize("cols", [64, 100, 1023, 1024, 5000, 30_000, 100_003])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_same_bits_at_any_address(dtype, cols, device):
    """Forward and backward, also where the dtype changes; in rows that are apart, or repeated."""
    wide = torch.randn(64, cols + 24, device=device).to(dtype)
    x, g = wide[:, 1 : cols + 1], torch.randn(cols, device=device)
    expected = None
    for start, gap in ((0, 0), (1, 23), (8, 16), (3, 0), (4, 4)):
        own = torch.empty(64 * (cols + gap) + 8, dtype=dtype, device=device)
        own = own[start:].as_strided((64, cols), (cols + gap, 1), start).copy_(x).requires_grad_()
        y = kernels.softmax(own, -1, dtype=torch.float32)
        (dx,) = torch.autograd.grad(y, own, g.expand(64, cols))
        answers = kernels.softmax(own, -1), y, dx
        expected = expected or answers
        assert all(map(torch.equal, answers, expected))
        one = kernels.softmax(own[5:6].detach(), -1, dtype=torch.float32)
        assert torch.equal(one, y[5:6]), "in another batch"
    assert torch.equal(y, kernels.softmax(x.float(), -1)), "not as a row that was cast first"


@pytest.mark.gpu
@pytest.mark.parametrize("cols", [256, 781, 4100, 50_257])
@pytest.mark.parametrize("op", OPS)
def test_a_float32_output_at_any_address(op, cols, device):
    """A caller may place it; torch's allocator aligns all others."""
    x, operation = torch.randn(16, cols, device=device).bfloat16(), FUNCTIONS[OPS.index(op)]
    expected = getattr(kernels, op)(x, -1, dtype=torch.float32)
    for start in range(4):
        out = torch.empty(16 * cols + 4, device=device)[start:][: 16 * cols].view(16, cols)
        assert operation._first_that_works(Call(out, (x,), 16, cols, 1, cols))
        assert torch.equal(out, expected)
