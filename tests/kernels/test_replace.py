"""torch's own functions run the kernels while ``replace_torch`` is in force."""

import pytest
import torch

import kernels
from kernels.dropin import replace
from kernels.tensors import DTYPES
from tests.kernels.helpers.dropin import OPS, assert_right
from tests.marks import slow


def test_whoever_calls_torch_gets_the_kernels(launches, device, reset_dynamo):
    """Layers, the loss, torch.func, second derivatives, a graph: all end in four operators."""
    x = torch.randn(3, 5, device=device)
    functional = torch.nn.functional
    calls = {
        "layer": lambda a: torch.nn.Softmax(-1)(a),
        "method": lambda a: a.softmax(0),
        "loss": lambda a: functional.cross_entropy(a, torch.tensor([1, 0, 4], device=device)),
        "vmap of grad": torch.func.vmap(torch.func.grad(lambda a: a.log_softmax(0).cos().sum())),
        "second": torch.func.hessian(lambda a: a.softmax(-1).cos().sum()),
        "graph": torch.compile(lambda a: a.softmax(0), backend="eager", fullgraph=True),
    }
    for name, call in calls.items():
        expected = call(x)
        launches.clear()
        with kernels.replace_torch():
            value = call(x)
        torch.testing.assert_close(value, expected, msg=name)
        assert launches, name


def test_logsumexp_of_rows_is_replaced_and_nothing_else(launches, device, monkeypatch):
    """Its gradient stays torch's; another dimension, several and float64 are left to torch."""
    x = torch.randn(3, 50, device=device).half().float().requires_grad_()
    calls = []
    monkeypatch.setattr(
        replace.rows, "takes", lambda x: calls.append(x.shape) or x.dtype is torch.float32
    )
    expected = torch.logsumexp(x, -1, keepdim=True)
    (gradient,) = torch.autograd.grad(expected.sum(), x)
    with kernels.replace_torch():
        y = x.logsumexp(-1, keepdim=True)
        assert calls == [x.shape]
        torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], gradient)
        for dims in (0, (0, 1)):
            torch.logsumexp(x, dims)
        assert len(calls) == 1
        assert torch.logsumexp(x.double(), 1).dtype is torch.float64
    torch.testing.assert_close(y, expected)
    torch.logsumexp(x, -1)
    assert len(calls) == 2, "after the end torch is alone"


def test_it_ends_with_the_last_undo_and_may_be_entered_again(launches, device):
    """Also inside itself, where the inner end is not the outer one's."""
    x = torch.randn(3, 5, device=device)
    before = torch.softmax(x, 1)
    outer = kernels.replace_torch()
    with kernels.replace_torch():
        torch.softmax(x, 1)
    torch.softmax(x, 1)
    assert len(launches) == 2
    for _ in range(2):
        outer.undo()
        assert torch.equal(torch.softmax(x, 1), before)
    assert not replace._active
    for _ in range(2):
        with outer as entered, outer:
            torch.softmax(x, 1)
            assert entered is outer
        assert not replace._active
    with outer:
        with outer:
            outer.undo()
        torch.softmax(x, 1)
    assert len(launches) == 4


@pytest.mark.parametrize("log", [False, True])
def test_float32_out_of_float16(log, launches, device):
    """As torch.softmax(x, dim, torch.float32) asks its CUDA operator, and its backward."""
    names = [name for name in replace.OPERATORS if ("log" in name) == log]
    forward, backward = (getattr(torch.ops.aten, name) for name in names)
    x = torch.randn(3, 5, device=device).half()
    with kernels.replace_torch():
        y = forward(x, -1, True)
        dx = backward(torch.randn_like(y), y, -1, torch.float16)
    assert (y.dtype, dx.dtype) == (torch.float32, torch.float16)
    assert_right(y, x, 1, OPS[log])
    assert len(launches) == 2


@pytest.mark.parametrize("inductor", [slow(False), slow(True)])  # Inductor takes half a minute
def test_inductor_calls_the_kernels_where_it_is_asked_to(
    inductor, launches, device, reset_dynamo, tmp_path, monkeypatch
):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    tag = torch.compiler.config.cache_key_tag
    compiled = torch.compile(lambda a: torch.softmax(a * 2, 1).cos() + a, fullgraph=True)
    ours = torch.randn(3, 1000, device=device).requires_grad_()
    torchs = ours.detach().clone().requires_grad_()
    compiled(torchs).sum().backward()
    assert not launches
    with kernels.replace_torch(inductor=inductor):
        compiled(ours).sum().backward()
        assert bool(launches) == inductor
    torch.testing.assert_close(ours.grad, torchs.grad)
    launches.clear()
    compiled(torchs)
    assert not launches
    assert torch.compiler.config.cache_key_tag == tag


def test_without_a_gpu_or_with_an_old_torch(monkeypatch):
    """A script for a GPU runs here, too; an old torch is named."""
    monkeypatch.setattr(torch.version, "cuda", None)
    with kernels.replace_torch():
        assert replace._library is None
    monkeypatch.delattr(torch.library, "get_kernel")
    with pytest.raises(RuntimeError, match=r"is too old; replace_torch needs torch 2\.9"):
        kernels.replace_torch()
    monkeypatch.undo()
    monkeypatch.setattr(replace, "_of_inductor", list)
    with pytest.raises(RuntimeError, match=r"Inductor of torch .* is unknown; use inductor=False"):
        kernels.replace_torch(inductor=True)
    assert not replace._active


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_step_in_a_cuda_graph(dtype, launches, device):
    """Under autocast, forward and backward."""
    x = torch.randn(64, 1000, device=device, requires_grad=True)
    word = torch.randint(1000, (64,), device=device)

    def step():
        with torch.autocast("cuda", dtype, enabled=dtype != torch.float32):
            y = torch.nn.functional.cross_entropy(torch.softmax(x.to(dtype), 1), word)
        return torch.autograd.grad(y, x)[0]

    expected = step()
    with kernels.replace_torch():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            step()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            dx = step()
    dx.zero_()
    graph.replay()
    torch.testing.assert_close(dx, expected, rtol=2e-2, atol=1e-6)
    assert len(launches) == 8
