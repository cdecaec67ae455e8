"""The drop-in's kernels, backward, against the formulas in float64 and against torch."""

import pytest
import torch

import kernels
from tests.kernels.dropin import OPS, kinds, one_op, samples
from tests.kernels.special import special_rows
from tests.kernels.test_dropin_values import SHAPES
from tests.marks import slow

# of the largest term: a few round-offs of the dtype, twice as many where Triton's interpreter
# truncates
TOLERANCE = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def assert_gradient(dx, g, y, dim, op):
    """dx is what the formula gives for y as it was rounded, in float64."""
    g, y = g.double(), y.detach().double()
    if op == "softmax":
        terms = y * g, y * (g * y).sum(dim, keepdim=True)
    else:
        terms = g, y.exp() * g.sum(dim, keepdim=True)
    largest = max(term.abs().max().item() for term in terms)
    atol = TOLERANCE[dx.dtype] * largest
    torch.testing.assert_close(dx.double(), terms[0] - terms[1], rtol=0, atol=atol)


@kinds
def test_torchs_own_samples(op, dtype, launches, device):
    for x, words, options in samples(op, device, dtype):
        ours, torchs = (x.clone().requires_grad_() for _ in range(2))
        y = getattr(kernels, op)(ours, *words, **options)
        expected = getattr(torch, op)(torchs, *words, **options)
        g = torch.randn_like(y)
        y.backward(g)
        expected.backward(g)
        loose = {"rtol": 0.05, "atol": 0.05} if dtype == torch.bfloat16 else {}
        loose = {"rtol": 5e-3, "atol": 5e-3} if dtype == torch.float16 else loose
        torch.testing.assert_close(ours.grad, torchs.grad, **loose)
    assert {launch[0].__name__ for launch in launches} == {"forward", "backward"}


@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
@kinds
def test_any_rank_and_dimension(op, dtype, shape, dim, launches, device):
    torch.manual_seed(0)
    x = (torch.randn(shape, device=device) * 3).to(dtype).requires_grad_()
    y = getattr(kernels, op)(x, dim)
    g = torch.randn_like(y)
    y.backward(g)
    assert x.grad.dtype == dtype
    assert_gradient(x.grad, g, y, dim, op)
    assert len(launches) == 2


GRADIENTS = {
    "one number for all, as sum() leaves it": (lambda t: t[:1, :1, :1].expand(4, 6, 20), False),
    "one row for all": (lambda t: t[:1, :1].expand(4, 6, 20), True),
    "columns of wider rows": (lambda t: torch.cat([t, t], 2)[..., 5:25], True),
    "transposed": (lambda t: t.transpose(0, 2).contiguous().transpose(0, 2), False),
}


@pytest.mark.parametrize("view", GRADIENTS)
@one_op
def test_any_strides_of_the_incoming_gradient(op, view, launches, device):
    make, as_it_lies = GRADIENTS[view]
    torch.manual_seed(1)
    for dim in (2, 1):
        x = torch.randn(4, 6, 20, device=device).transpose(0, 1).contiguous().transpose(0, 1)
        x.requires_grad_()
        y = getattr(kernels, op)(x, dim)
        g = make(torch.randn(4, 6, 20, device=device))
        y.backward(g)
        assert_gradient(x.grad, g, y, dim, op)
        assert (launches[-1][1] == g.data_ptr()) == (as_it_lies and dim == 2)


@pytest.mark.parametrize("narrow", [slow(torch.float16), torch.bfloat16], ids=str)
@one_op
def test_through_another_dtype(op, narrow, launches, device):
    """float32 out of 16 bits: the gradient comes in float32 and leaves in 16 bits; and back."""
    torch.manual_seed(2)
    for own, dtype in ((narrow, torch.float32), (torch.float32, narrow)):
        x = torch.randn(5, 40, device=device).to(own).requires_grad_()
        y = getattr(kernels, op)(x, 1, dtype=dtype)
        g = torch.randn_like(y)
        y.backward(g)
        assert x.grad.dtype == own
        assert_gradient(x.grad.to(narrow), g, y, 1, op)
    assert len(launches) == 4


@pytest.mark.parametrize("op", OPS)
def test_infinities_and_nan_as_torch_has_them(op, launches, device):
    for shape in ((300,), (17_000,), (40, 3), (2100, 3)):
        x = special_rows(6, *shape, device=device)
        grads = []
        for module in (kernels, torch):
            own = x.clone().requires_grad_()
            getattr(module, op)(own, 1).cos().sum().backward()
            grads.append(own.grad)
        torch.testing.assert_close(*grads, equal_nan=True, rtol=1e-4, atol=1e-4)
    assert len(launches) == 8


@pytest.mark.parametrize("op", OPS)
def test_second_derivatives_are_torchs(op, launches, device):
    torch.manual_seed(3)
    x, g = torch.randn(2, 3, 4, 5, device=device)
    found = []
    for module in (kernels, torch):
        own, seed = x.clone().requires_grad_(), g.clone().requires_grad_()
        (dx,) = torch.autograd.grad(getattr(module, op)(own, 1), own, seed, create_graph=True)
        found.append(torch.autograd.grad(dx.square().sum(), (own, seed)))
    torch.testing.assert_close(*found)
    assert len(launches) >= 2


def test_a_result_that_was_changed_is_noticed(launches, device):
    """The backward needs y; torch says so rather than to compute with what is there now."""
    y = kernels.softmax(torch.randn(3, 4, device=device, requires_grad=True), 1)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
