"""The drop-in on a GPU: what an interpreter cannot show. Values are in the other files."""

import pytest
import torch

import kernels
from kernels.cuda import launch
from kernels.dropin.functions import FUNCTIONS
from tests.kernels.helpers.dropin import OPS, assert_gradient, assert_right, one_op

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


@pytest.mark.parametrize(
    ("cols", "dtype", "differentiates"),
    [
        (64, torch.float32, False),
        (1000, torch.float32, False),
        (2**20, torch.float32, False),  # a kernel with a workspace
        (8192, torch.float32, True),
        (8192, torch.bfloat16, True),  # the results are float32, except for the gradient
    ],
)
def test_a_repeated_launch_gives_the_same_bits(cols, dtype, differentiates, launches, device):
    """At another address, on another stream, in a graph, and beside an unaligned x."""
    x = torch.randn(4 * cols + 1, device=device).to(dtype)
    unaligned, x = x[1:].view(4, cols), x[:-1].view(4, cols)
    g = torch.randn(cols, device=device).repeat(4, 1)

    def step(x):
        x = x.detach().requires_grad_(differentiates)
        y = kernels.softmax(x, -1, torch.float32)
        return y.detach(), *(torch.autograd.grad(y, x, g) if differentiates else ())

    first = step(x)
    assert FUNCTIONS[0].known_launch(-1, torch.float32, x)
    assert not differentiates or FUNCTIONS[0].gradient.known_launch(1, dtype, g, first[0])
    stream, graph, copy = torch.cuda.Stream(), torch.cuda.CUDAGraph(), x.clone()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)  # a launch on another stream would read zeros
        behind = torch.zeros_like(x).copy_(x)
        outputs = [step(tensor) for tensor in (copy, behind)]
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        captured = step(copy)
    copy.copy_(x.flip(0))
    graph.replay()
    outputs.append([tensor.flip(0) for tensor in captured])
    for tensors in outputs:
        assert all(map(torch.equal, tensors, first))
    expected = torch.softmax(unaligned, 1, torch.float32)
    torch.testing.assert_close(step(unaligned)[0], expected)
    assert len(launches) == 5 * (1 + differentiates)
