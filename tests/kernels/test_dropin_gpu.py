"""The drop-in on a GPU: what an interpreter cannot show. Values are in the other files."""

import pytest
import torch

import kernels
from kernels.cuda import launch
from kernels.dropin.functions import FUNCTIONS
from tests.kernels.helpers.dropin import DTYPES, OPS, assert_gradient, assert_right, one_op
from tests.marks import slow

pytestmark = pytest.mark.gpu


@pytest.mark.usefixtures("exclusive_gpu_memory")
@pytest.mark.parametrize("op", OPS)
def test_more_than_two_to_the_31_elements_over_columns(op, launches, device):
    """The last ones are where a 32-bit offset would wrap; of rows, test_numerics.py has it."""
    torch.manual_seed(0)
    x = torch.zeros(2, 1100, 2**20, dtype=torch.bfloat16, device=device)
    assert x.numel() > 2**31
    last = slice(-1, None), slice(None), slice(-8, None)
    x[last].normal_()
    x.requires_grad_()
    y = getattr(kernels, op)(x, 1)
    assert_right(y[last].detach().contiguous(), x[last].detach(), 1, op)
    g = torch.zeros_like(y)
    g[last].normal_()
    (dx,) = torch.autograd.grad(y, x, g)
    assert_gradient(dx[last], g[last], y[last], 1, op)
    assert not dx[0].any()
    assert len(launches) == 2


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [3, 257, 5000, slow(40_000)])
@pytest.mark.parametrize("op", OPS)
def test_a_column_has_the_same_bits_in_tensors_of_any_width(op, n, dtype, launches, device):
    """Vectors of the widest are aligned, of others not, and one alone is adjacent in memory."""
    torch.manual_seed(7)
    x, g = torch.randn(2, n, 1000, device=device).to(dtype)

    def answers(*tensors):
        x, g = (t.clone(memory_format=torch.contiguous_format) for t in tensors)
        y = getattr(kernels, op)(x.requires_grad_(), x.dim() - 2)
        return y.detach(), torch.autograd.grad(y, x, g)[0]

    wide = answers(x, g)
    for inner in (1, 2, 7, 32, 100):
        expected = [t[:, :inner] for t in wide]
        assert all(map(torch.equal, answers(x[:, :inner], g[:, :inner]), expected)), inner
        many = answers(*(t[:, :inner].expand(300, n, inner) for t in (x, g)))
        assert all(torch.equal(t[137], e) for t, e in zip(many, expected, strict=True)), inner


@pytest.mark.parametrize(
    ("dtype", "cols", "by_cuda"),
    [
        (torch.float32, 8192, True),
        (torch.bfloat16, 50_257, True),  # not aligned
        (torch.float32, 1_500_000, False),  # more than a cluster holds
    ],
)
@one_op
def test_cuda_backward_takes_long_rows(op, dtype, cols, by_cuda, device, monkeypatch):
    """test_dropin_backward.py says from which length on."""
    torch.manual_seed(3)
    x = torch.randn(5, cols, device=device).to(dtype).requires_grad_()
    g = torch.randn(cols, device=device).to(dtype).expand(5, cols)
    y = getattr(kernels, op)(x, 1)
    assert_right(y.detach(), x.detach(), 1, op)
    monkeypatch.setattr(launch, "_loaded", {})
    (dx,) = torch.autograd.grad(y, x, g)
    launched = [loaded.plan.source.stem for loaded in launch.cached_launches()]
    assert launched == ["cuda_backward"] * by_cuda
    assert_gradient(dx, g, y, 1, op)


@pytest.mark.parametrize("cols", [20, 2**20])  # 2^20: a kernel with a workspace
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@one_op
def test_compiled_by_inductor(op, mode, cols, launches, device, reset_dynamo):
    def model(module, a):
        return getattr(module, op)(a * 2, -1, dtype=torch.float32).cos() + a

    compiled = torch.compile(lambda a: model(kernels, a), fullgraph=True, mode=mode)
    for _ in range(4):  # reduce-overhead records a CUDA graph on the second call and replays it
        ours = torch.randn(3, cols, device=device, dtype=torch.float16).requires_grad_()
        torchs = ours.detach().clone().requires_grad_()
        y, expected = compiled(ours), model(torch, torchs)
        torch.testing.assert_close(y, expected)
        y.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(ours.grad, torchs.grad, rtol=5e-3, atol=5e-3)
    assert launches


def test_a_tensor_on_another_gpu_than_the_current_one(launches):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    with torch.cuda.device(0):
        for dim in (0, 1):
            x = torch.randn(40, 50, device="cuda:1", requires_grad=True)
            y = kernels.softmax(x, dim)
            torch.testing.assert_close(y, torch.softmax(x, dim))  # checks the device, too
            y.cos().sum().backward()  # autograd checks the gradient's
        assert torch.cuda.current_device() == 0
    assert len(launches) == 4


@pytest.mark.parametrize("dim", [1, 0])
def test_it_waits_for_nothing_and_takes_no_memory_but_the_results(dim, launches, device):
    x = torch.randn(1024, 2048, device=device, requires_grad=True)
    g = torch.randn_like(x)
    torch.autograd.grad(kernels.softmax(x, dim), x, g)  # compiles
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.autograd.grad(kernels.softmax(x, dim), x, g)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.cuda.max_memory_allocated() - before <= 2 * x.nbytes + 1024


@pytest.mark.parametrize("cols", [64, 1000, 2**20])  # 2^20: a kernel with a workspace
def test_a_repeated_launch_gives_the_same_bits(cols, launches, device):
    """At another address, on another stream, in a graph, and beside an unaligned x."""
    x = torch.randn(4 * cols + 1, device=device)
    unaligned, x = x[1:].view(4, cols), x[:-1].view(4, cols)
    first = kernels.softmax(x, -1)
    assert FUNCTIONS[0].known_launch(-1, None, x)
    stream, graph, copy = torch.cuda.Stream(), torch.cuda.CUDAGraph(), x.clone()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)  # a launch on another stream would read zeros
        behind = torch.zeros_like(x).copy_(x)
        outputs = [kernels.softmax(tensor, 1) for tensor in (copy, behind)]
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        outputs.append(kernels.softmax(copy, 1))
    copy.copy_(x.flip(0))
    graph.replay()
    outputs[-1] = outputs[-1].flip(0)
    assert all(torch.equal(tensor, first) for tensor in outputs)
    torch.testing.assert_close(kernels.softmax(unaligned, 1), torch.softmax(unaligned, 1))
    assert len(launches) == 5


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16]
)  # x has it; the result is float32
def test_a_repeated_step_gives_the_same_bits(dtype, launches, device):
    """Forward and backward, also on another stream and in a graph."""
    x = torch.randn(4, 8192, device=device).to(dtype).requires_grad_()
    g = torch.randn(4, 8192, device=device)

    def step():
        y = kernels.softmax(x, -1, torch.float32)
        return y.detach(), *torch.autograd.grad(y, x, g)

    first = step()
    assert FUNCTIONS[0].known_launch(-1, torch.float32, x)
    assert FUNCTIONS[0].gradient.known_launch(1, dtype, g, first[0])
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        outputs = [step()]
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        outputs.append(step())
    graph.replay()
    for again in outputs:
        assert all(map(torch.equal, again, first))
    assert len(launches) == 6
