"""The bits of the drop-in's results are the same in any batch and at any address."""

import numpy as np
import pytest
import torch
from triton.runtime import interpreter

import kernels
from kernels.dropin import routes, triton_columns
from kernels.dropin.functions import FUNCTIONS
from kernels.dropin.library_function import Call
from tests.kernels.helpers.dropin import OPS, assert_gradient, assert_right, kinds

# One tile; tiles, the last not full; chunks, the last not full, which are shorter here.
LENGTHS = 40, 300, 700
lengths = pytest.mark.parametrize("n", LENGTHS)
ON_A_GPU = [
    pytest.param(5000, marks=pytest.mark.gpu),
    pytest.param(40_000, marks=[pytest.mark.gpu, pytest.mark.slow]),
]


@pytest.fixture
def short_chunks(n, monkeypatch):
    if n == LENGTHS[-1]:
        monkeypatch.setattr(triton_columns, "CHUNK", 256)


@pytest.mark.parametrize("n", [*LENGTHS, *ON_A_GPU])
@kinds
@pytest.mark.usefixtures("short_chunks")
def test_a_column_gives_the_same_bits_beside_any_others(
    op, dtype, n, launches, device, monkeypatch
):
    """Alone, too; at any address; between others; and when one program takes all its chunks."""
    torch.manual_seed(6)
    is_gpu = device.type == "cuda"
    x, g = torch.randn(2, n, 1000 if is_gpu else 40, device=device).to(dtype)

    def answers(x, g, dim=0):
        x = x.requires_grad_()
        y = getattr(kernels, op)(x, dim)
        return y.detach(), torch.autograd.grad(y, x, g)[0]

    wide = answers(x.clone(), g)
    assert_right(wide[0], x, 0, op)
    assert_gradient(wide[1], g, wide[0], 0, op)
    for inner in (1, 3, 20, 32, 100) if is_gpu else (1, 3, 20):
        for start in (0, 1):
            memory = (torch.empty(n * inner + 1, dtype=dtype, device=device) for _ in range(2))
            parts = [
                t[start : start + n * inner].view(n, inner).copy_(whole[:, :inner])
                for t, whole in zip(memory, (x, g), strict=True)
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
    ("cols", "start", "stride", "copied"),
    [
        (64, 0, 64, False),
        (64, 1, 64, True),
        (64, 0, 72, True),
        (64, 0, 80, False),
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
        memory = torch.empty(64 * (cols + gap) + 8, dtype=dtype, device=device)
        rows = memory[start:].as_strided((64, cols), (cols + gap, 1), start).copy_(x)
        rows.requires_grad_()
        y = kernels.softmax(rows, -1, dtype=torch.float32)
        (dx,) = torch.autograd.grad(y, rows, g.expand(64, cols))
        answers = kernels.softmax(rows, -1), y, dx
        expected = expected or answers
        assert all(map(torch.equal, answers, expected))
        one = kernels.softmax(rows[5:6].detach(), -1, dtype=torch.float32)
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
