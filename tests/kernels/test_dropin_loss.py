"""The library's losses whose gradient is computed in the forward, against torch's own."""

import pytest
import torch
import torch.nn.functional as F

from kernels.dropin.logits import loss as loss_module
from kernels.dropin.logits.api import cross_entropy
from kernels.logits import RowOptions, RowTensors
from tests.kernels.helpers.logits import draw_logits


# On a GPU: a row of a warp, a block's, a cluster's, one that registers do not hold; on a CPU the
# kernels' place is taken by torch, which leaves the autograd function to test.
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("device", "shape"),
    [
        ("cpu", (8, 40)),
        *(
            pytest.param("cuda", shape, marks=pytest.mark.gpu)
            for shape in [(8, 40), (40,), (9, 3000), (5, 100_003), (3, 600_001)]
        ),
    ],
    ids=str,
)
def test_a_gradient_that_is_computed_with_the_loss(device, shape, reduction, in_place, operators):
    x, target = draw_logits(*shape, device=device)
    if len(shape) > 1:
        target[1] = -100
    settings = {"reduction": reduction, "label_smoothing": 0.1}
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    logits = ours + 0  # a leaf keeps its memory
    loss = cross_entropy(
        logits, target, **settings, gradient_in_forward=True, inplace_backward=in_place
    )
    assert torch.equal(loss, cross_entropy(x, target, **settings))
    right = F.cross_entropy(theirs, target, **settings)
    torch.testing.assert_close(loss, right)
    g = torch.linspace(1, 2, loss.numel(), device=device).view(loss.shape)
    loss.backward(g, retain_graph=True)
    right.backward(g)
    torch.testing.assert_close(ours.grad, theirs.grad)
    with pytest.raises(RuntimeError, match="can be taken once"):
        loss.backward(g)


def test_a_gradient_that_is_computed_with_the_loss_has_no_derivative(operators):
    x, target = draw_logits(8, 40)
    x.requires_grad_()
    loss = cross_entropy(x, target, gradient_in_forward=True)
    with pytest.raises(RuntimeError, match="has no derivative"):
        torch.autograd.grad(loss, x, create_graph=True)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_torch_ignores_that_a_gradient_is_wanted_early(reduction, requires_grad):
    """Where no kernel computes, or nothing needs a gradient."""
    x, target = draw_logits(8, 40)
    loss = cross_entropy(
        x.requires_grad_(requires_grad), target, reduction=reduction, gradient_in_forward=True
    )
    torch.testing.assert_close(loss, F.cross_entropy(x, target, reduction=reduction))
    z_loss = cross_entropy(x, target, reduction=reduction, gradient_in_forward=True, z_loss=0.0001)
    assert z_loss.shape == loss.shape


@pytest.mark.parametrize("default", [torch.float64, torch.bfloat16])
def test_what_a_kernel_multiplies_by_is_float32_whatever_the_default(default):
    """The kernel reads four bytes of it."""
    losses, tensors = torch.ones(3), RowTensors(torch.ones(3, 4), torch.tensor([1, -100, 2]))
    options = RowOptions("CrossEntropy", 1.0, -100)
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        mean, scale = loss_module.reduce_losses(losses, tensors, options, False, False)
    finally:
        torch.set_default_dtype(before)
    assert (scale.dtype, mean.dtype) == (torch.float32, torch.float32)
    assert scale == 0.5
