"""The library's functions of logits, against torch's own."""

import contextlib

import pytest
import torch
import torch.nn.functional as F
from torch.func import vmap

from kernels.dropin.logits import rows as computed
from kernels.dropin.logits.api import cross_entropy, logsumexp, token_log_probs
from kernels.dropin.logits.by_torch import gradient_by_torch, values_by_torch
from kernels.logits import RowOptions, RowTensors
from tests.kernels.helpers.logits import draw_logits

gpu = pytest.param("cuda", marks=pytest.mark.gpu)
DEVICES = pytest.mark.parametrize("device", ["cpu", gpu])


def expected(x, index, temperature=1.0):
    log_p = torch.log_softmax(x.double() / temperature, -1)
    p = log_p.exp()
    entropy = -(p * log_p.masked_fill(p == 0, 0)).sum(-1)
    columns = index if index.dim() == x.dim() else index[..., None]
    return log_p.gather(-1, columns).view(index.shape), entropy


@DEVICES
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(3, 70), (2, 3, 5001), (70,)], ids=str)
def test_log_probs_and_entropies_with_their_gradients(shape, dtype, device):
    x, index = draw_logits(*shape, dtype=dtype, device=device)
    x.requires_grad_()
    wide = x.detach().double().requires_grad_()
    temperature = torch.linspace(0.5, 2, max(1, index.numel()), device=device).view(index.shape)
    log_p, entropy = token_log_probs(x, index, temperature=temperature, entropy=True)
    right = expected(wide, index, temperature[..., None].double())
    for value, exact in zip((log_p, entropy), right, strict=True):
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), exact, rtol=2e-6, atol=2e-6)
    (dx,) = torch.autograd.grad(log_p.sum() + 2 * entropy.sum(), x)
    (exact,) = torch.autograd.grad(right[0].sum() + 2 * right[1].sum(), wide)
    tolerance = 2**-8 if dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(dx.double(), exact, rtol=tolerance, atol=1e-6)


@DEVICES
def test_several_tokens_of_a_row(device):
    x, _ = draw_logits(2, 4, 90, device=device)
    index = torch.randint(90, (2, 4, 5), device=device)
    torch.testing.assert_close(token_log_probs(x, index).double(), expected(x, index)[0])


@DEVICES
def test_rows_that_are_masked_are_zero_and_so_are_their_gradients(device):
    x, index = draw_logits(4, 300, device=device)
    x[1], x[2, 7:] = torch.nan, -torch.inf
    x.requires_grad_()
    mask = torch.tensor([1, 0, 1, 1], device=device)
    index = index.clamp(max=6)
    log_p, entropy = token_log_probs(x, index, row_mask=mask, entropy=True)
    assert log_p[1] == entropy[1] == 0
    assert log_p.isfinite().all()
    (dx,) = torch.autograd.grad(log_p.sum() + entropy.sum(), x)
    assert (dx[1] == 0).all()
    assert dx.isfinite().all()
    assert (dx[2, 7:] == 0).all()


@DEVICES
def test_an_index_outside_the_row(device):
    x, _ = draw_logits(3, 50, device=device)
    log_p = token_log_probs(x, torch.tensor([-1, 50, 3], device=device))
    assert log_p.isnan().tolist() == [True, True, False]


@DEVICES
@pytest.mark.parametrize("dim", [-1, 1, 0, (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp_is_that_of_torch(dim, keepdim, device):
    x, _ = draw_logits(6, 130, device=device)
    x[0] = -torch.inf
    x[1, 3] = torch.inf
    y = logsumexp(x, dim, keepdim)
    torch.testing.assert_close(y, torch.logsumexp(x, dim, keepdim))
    assert logsumexp(x.bfloat16(), dim).dtype == torch.bfloat16


LOSSES = [
    {},
    {"reduction": "sum", "label_smoothing": 0.1},
    {"reduction": "none", "ignore_index": 3},
    {"weight": torch.linspace(0.1, 1, 40)},
    {"size_average": False},
]


@DEVICES
@pytest.mark.parametrize("settings", LOSSES, ids=lambda settings: "-".join(settings))
@pytest.mark.parametrize("shape", [(8, 40), (40,), (2, 40, 3)], ids=str)
def test_the_loss_is_that_of_torch(shape, settings, device):
    x, _ = draw_logits(*shape, device=device)
    target = torch.randint(40, (*shape[:1], *shape[2:]) if len(shape) > 1 else (), device=device)
    settings = {name: v.to(device) if name == "weight" else v for name, v in settings.items()}
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    loss = cross_entropy(ours, target, **settings)
    right = F.cross_entropy(theirs, target, **settings)
    torch.testing.assert_close(loss, right)
    loss.sum().backward()
    right.sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)
    assert cross_entropy(x.bfloat16(), target).dtype == torch.bfloat16


def test_a_loss_over_probabilities_is_that_of_torch():
    x, p = torch.randn(4, 9), torch.softmax(torch.randn(4, 9), 1)
    assert torch.equal(cross_entropy(x, p), F.cross_entropy(x, p))


@DEVICES
def test_the_loss_grows_by_z_loss(device):
    x, target = draw_logits(4, 70, device=device)
    right = F.cross_entropy(x, target) + 0.1 * (torch.logsumexp(x, 1) ** 2).mean()
    torch.testing.assert_close(cross_entropy(x, target, z_loss=0.1), right)
    with pytest.raises(ValueError, match="z_loss needs"):
        cross_entropy(x, x.softmax(1), z_loss=0.1)


@pytest.mark.parametrize("value", [torch.finfo(torch.float32).min, 1e20])
def test_logits_whose_squares_are_infinite(value):
    """A row masked with the lowest number, for example."""
    x, target = torch.full((2, 8), value), torch.tensor([0, 3])
    x[1, 1:] = 0
    tensors, options = RowTensors(x, target), RowOptions("CrossEntropy", 1.0, -100)
    first, _, sums = values_by_torch(tensors, options)
    torch.testing.assert_close(first, F.cross_entropy(x, target, reduction="none"))
    assert gradient_by_torch(torch.ones(2), None, tensors, sums, options).isfinite().all()


@pytest.mark.parametrize("shape", [(24,), (2, 3, 4), (6, 4)])
def test_a_gradient_never_takes_the_place_of_a_leaf(shape):
    leaf = torch.randn(shape, requires_grad=True)
    assert not computed.may_overwrite(computed.as_rows(leaf))
    assert not computed.may_overwrite(leaf.view(-1, 4))
    assert not computed.may_overwrite(leaf.reshape(1, -1))
    assert computed.may_overwrite(computed.as_rows(leaf * 1))


@pytest.mark.parametrize("way", ["torch", "kernels", "kernels under a function mode"])
def test_derivatives_of_every_order(way, request):
    if way != "torch":
        request.getfixturevalue("operators")
    index = torch.randint(7, (3,))
    torch.manual_seed(0)
    x = torch.randn(3, 7, requires_grad=True)

    def values(x):
        return token_log_probs(x, index, temperature=0.5, entropy=True)

    loose = {"eps": 1e-2, "atol": 2e-2, "rtol": 2e-2}  # values are float32
    with torch.device("cpu") if "mode" in way else contextlib.nullcontext():
        assert torch.autograd.gradcheck(values, (x,), **loose)
        assert torch.autograd.gradgradcheck(values, (x,), **loose)


@pytest.mark.usefixtures("operators")
def test_operators_are_what_torch_expects():
    x, index = draw_logits(3, 20)
    x.requires_grad_()
    options = computed.RowOptions("TokenLogProbEntropy")
    arguments = x, index[:, None], None, torch.ones(3, dtype=torch.bool)
    torch.library.opcheck(computed.row_values, (*arguments, *options))


@pytest.mark.usefixtures("operators", "reset_dynamo")
def test_a_compiled_function_has_one_graph():
    x, index = draw_logits(3, 20)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def compiled(x):
        log_p, entropy = token_log_probs(x, index, entropy=True)
        return log_p.sum() + entropy.sum() + cross_entropy(x, index) + logsumexp(x, -1).sum()

    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    compiled(ours).backward()
    log_p, entropy = expected(theirs, index)
    (
        log_p.sum() + entropy.sum() + F.cross_entropy(theirs, index) + theirs.logsumexp(1).sum()
    ).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_vmap_and_func_grad():
    x, index = draw_logits(4, 5, 20)
    y = vmap(token_log_probs)(x, index)
    torch.testing.assert_close(y, token_log_probs(x, index))
    dx = torch.func.grad(lambda x: token_log_probs(x, index).sum())(x)
    assert dx.shape == x.shape


@pytest.mark.usefixtures("operators", "reset_dynamo")
@pytest.mark.parametrize("function", [token_log_probs, cross_entropy])
def test_a_compiled_function_may_take_a_gradient_by_torch_func(function):
    x, index = draw_logits(4, 20)

    def gradient(x):
        return torch.func.grad(lambda x: function(x, index).sum())(x)

    compiled = torch.compile(gradient, backend="aot_eager")
    torch.testing.assert_close(compiled(x), gradient(x))


@DEVICES
def test_results_may_be_changed_in_place(device):
    """As training loops do with a loss, and with what a mask leaves of entropies."""
    x, index = draw_logits(4, 60, device=device)
    x.requires_grad_()
    log_p, entropy = token_log_probs(x, index, entropy=True)
    entropy *= 2
    log_p += 1
    loss = cross_entropy(x, index)
    loss /= 4
    (dx,) = torch.autograd.grad(log_p.sum() + entropy.sum() + loss, x)
    wide = x.detach().double().requires_grad_()
    log_p, entropy = expected(wide, index)
    total = log_p.sum() + 2 * entropy.sum() + F.cross_entropy(wide, index) / 4
    (exact,) = torch.autograd.grad(total, wide)
    torch.testing.assert_close(dx.double(), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("operators")
def test_results_may_be_changed_in_place_where_kernels_launch():
    test_results_may_be_changed_in_place("cpu")


@DEVICES
@pytest.mark.parametrize("shape", [(0, 5), (3, 0, 5)], ids=str)
def test_no_rows(shape, device):
    x = torch.zeros(shape, device=device, requires_grad=True)
    index = torch.zeros(shape[:-1], dtype=torch.int64, device=device)
    log_p, entropy = token_log_probs(x, index, entropy=True)
    assert log_p.shape == entropy.shape == shape[:-1]
    (log_p.sum() + entropy.sum()).backward()
    assert x.grad.shape == shape
    assert cross_entropy(x.view(-1, 5), index.view(-1)).isnan()
    assert token_log_probs(x, index[..., None].expand(*shape[:-1], 0)).numel() == 0
    assert (logsumexp(x.new_zeros(2, 0), -1) == -torch.inf).all()


@pytest.mark.usefixtures("operators")
def test_forward_mode_and_batched_gradients():
    x, index = draw_logits(3, 20)
    jacobian = torch.func.jacfwd(lambda x: token_log_probs(x, index))(x)
    by_rows = torch.autograd.functional.jacobian(lambda x: token_log_probs(x, index), x)
    by_batch = torch.autograd.functional.jacobian(
        lambda x: token_log_probs(x, index), x, vectorize=True
    )
    torch.testing.assert_close(jacobian, by_rows)
    torch.testing.assert_close(by_batch, by_rows)


def test_float64_keeps_its_digits():
    x, index = draw_logits(3, 20)
    x = x.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: token_log_probs(x, index, entropy=True), (x,))


@pytest.mark.gpu
def test_a_gradient_in_place_is_computed_once():
    x, index = draw_logits(4, 500, device="cuda")
    logits = x.requires_grad_() * 1
    total = token_log_probs(logits, index, inplace_backward=True).sum()
    torch.autograd.grad(total, logits, retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(total, logits)


@pytest.mark.gpu
def test_the_gradient_may_take_the_place_of_the_logits():
    x, index = draw_logits(4, 5001, dtype=torch.bfloat16, device="cuda")
    leaf = x.clone().requires_grad_()
    (right,) = torch.autograd.grad(token_log_probs(leaf, index).sum(), leaf)
    logits = leaf * 1
    dx = torch.autograd.grad(token_log_probs(logits, index, inplace_backward=True).sum(), logits)
    assert torch.equal(dx[0], right)
    assert dx[0].data_ptr() == logits.data_ptr()


@pytest.mark.gpu
def test_a_row_has_the_same_bits_with_and_without_gradients_and_in_a_graph():
    x, index = draw_logits(64, 50257, dtype=torch.bfloat16, device="cuda")
    y = token_log_probs(x, index)
    assert torch.equal(y[:1], token_log_probs(x[:1], index[:1]))
    assert torch.equal(y, token_log_probs(x.clone().requires_grad_(), index))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = token_log_probs(x, index)
    graph.replay()
    assert torch.equal(y, captured)
