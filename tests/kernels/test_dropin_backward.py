"""The drop-in's backward: the kernel that computes it, and gradients that might overflow."""

from unittest import mock

import pytest
import torch

import kernels
from kernels.dropin import routes
from kernels.dropin.functions import FUNCTIONS
from kernels.dropin.library_function import Call
from kernels.frontier.backward import cuda_backward, triton_backward

SOFTMAX, _ = FUNCTIONS


@pytest.mark.parametrize(
    ("dtype", "out_dtype", "cols", "by_cuda"),
    [
        (torch.float32, torch.float32, 508, False),
        (torch.float32, torch.float32, 4100, True),
        (torch.float32, torch.float32, 191, False),  # no multiple of 16 bytes
        (torch.float32, torch.bfloat16, 193, True),
        (torch.bfloat16, torch.float32, 513, False),  # no kernel in CUDA C++ takes it
        (torch.bfloat16, torch.bfloat16, 513, True),
        (torch.bfloat16, torch.bfloat16, 2**22, False),  # cuda_backward returns False
    ],
)
def test_the_length_and_dtypes_of_a_row_choose_its_backward(
    dtype, out_dtype, cols, by_cuda, monkeypatch
):
    in_cuda, by_triton = mock.Mock(return_value=cols < 2**20), mock.Mock()
    monkeypatch.setattr(routes, "cuda_kernels", lambda _: mock.Mock(backward=in_cuda))
    monkeypatch.setattr(triton_backward, "launch", by_triton)
    y, dx = torch.empty(1, dtype=dtype), torch.empty(1, dtype=out_dtype)
    for rows in (1, 2**20):
        SOFTMAX.gradient._first_that_works(Call(dx, (y, y), rows, cols, 1, cols))
    assert by_triton.call_count == 2 * (not by_cuda)
    assert in_cuda.call_count == 2 * (by_cuda or cols > 2**20)


# Gradients, and an input whose second share is the largest: the first gradient less their mean is
# infinite in float32.
LARGE, UNEVEN = (3e38, -3e38, 1.0, 0.0), (0.0, 2.0, 0.3, 0.4)
LARGEST = torch.finfo(torch.float32).max


def assert_as_in_float64(dx, g, y, dim: int) -> None:
    expected = torch._softmax_backward_data(g.double(), y.double(), dim, torch.float64)
    torch.testing.assert_close(dx, expected.float(), rtol=1e-5, atol=1e-6 * LARGEST)


@pytest.mark.parametrize("dim", [1, 0])
def test_a_gradient_is_finite_where_torchs_on_a_gpu_is(dim, launches, device):
    """In the kernels of rows and of columns; and the derivative of the derivative."""
    g = torch.tensor([LARGE, LARGE[::-1]], device=device)
    x = torch.tensor([UNEVEN, UNEVEN[::-1]], device=device)
    if dim == 0:
        g, x = g.t().contiguous(), x.t().contiguous()
    gradients = []
    for module, dtype in ((kernels, x.dtype), (torch, torch.float64)):
        inputs, seed = x.to(dtype).requires_grad_(), g.to(dtype).requires_grad_()
        (dx,) = torch.autograd.grad(module.softmax(inputs, dim), inputs, seed, create_graph=True)
        gradients.append((dx, *torch.autograd.grad(dx, seed, g.to(dtype))))
    for ours, exact in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, exact.float(), rtol=1e-5, atol=1e32)
    assert launches


def test_a_long_row_s_gradient_does_not_overflow_either(emulated):
    """In CUDA C++, on one block."""
    x, g = torch.full((3, 5000), -10.0), torch.zeros(3, 5000)
    x[:, :4], g[:, :4] = torch.tensor(UNEVEN), torch.tensor(LARGE)
    g[2] = LARGEST
    y = torch.softmax(x, 1)
    assert_as_in_float64(emulated.run(cuda_backward.plan, (g, y)), g, y, 1)


@pytest.mark.parametrize(("n", "dim"), [(7, 0), (7, 1), (300, 0), (17_000, 1)])
def test_the_largest_gradients_do_not_overflow_a_sum_of_shares_above_1(n, dim, launches, device):
    """One tile of columns, a row in a block, columns in tiles, a row in tiles."""
    torch.manual_seed(5)
    y = torch.softmax(torch.randn(n, 20 if n < 1000 else 4, device=device), 0)
    assert (y.sum(0) > 1).any()
    y = y if dim == 0 else y.t().contiguous()
    for g in (torch.full_like(y, LARGEST), LARGEST * torch.randn_like(y).sign()):
        assert_as_in_float64(SOFTMAX.gradient.compute(g, y, dim, y.dtype), g, y, dim)
    assert len(launches) == 2
