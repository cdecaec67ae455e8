"""The drop-in on a GPU: what an interpreter cannot show. Values are in the other files."""

import pytest
import torch

import kernels
from tests.kernels.dropin import OPS, assert_right, one_op
from tests.marks import slow

pytestmark = pytest.mark.gpu


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("op", OPS)
def test_rows_beyond_two_to_the_31(op, launches, device):
    """The last rows are where a 32-bit offset would wrap."""
    cols = 4100
    x = torch.zeros(2**31 // cols + 8, cols, dtype=torch.bfloat16, device=device)
    torch.manual_seed(0)
    x[-8:] = torch.randn(8, cols, device=device)
    x.requires_grad_()
    y = getattr(kernels, op)(x, -1)
    assert x.numel() > 2**31
    assert_right(y[-8:].detach(), x[-8:].detach(), -1, op)
    assert_right(y[:8].detach(), x[:8].detach(), -1, op)
    g = torch.zeros_like(y)
    g[-8:] = torch.randn(8, cols, device=device)
    (dx,) = torch.autograd.grad(y, x, g)
    assert_gradient_like_torch(dx[-8:], x[-8:], g[-8:], -1, op)
    assert not dx[:-8].any()
    assert len(launches) == 2


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("op", OPS)
def test_columns_beyond_two_to_the_31(op, launches, device):
    """Over a dimension inside: the last columns of the last slice."""
    x = torch.zeros(2, 1100, 2**20, dtype=torch.bfloat16, device=device)
    torch.manual_seed(1)
    x[-1, :, -8:] = torch.randn(1100, 8, device=device)
    x.requires_grad_()
    y = getattr(kernels, op)(x, 1)
    assert x.numel() > 2**31
    last = x[-1, :, -8:].detach().contiguous()
    assert_right(y[-1, :, -8:].detach().contiguous(), last, 0, op)
    g = torch.zeros_like(y)
    g[-1, :, -8:] = torch.randn(1100, 8, device=device)
    (dx,) = torch.autograd.grad(y, x, g)
    assert_gradient_like_torch(dx[-1, :, -8:], last, g[-1, :, -8:], 0, op)
    assert not dx[0].any()
    assert len(launches) == 2


def assert_gradient_like_torch(dx, x, g, dim, op):
    x = x.detach().float().requires_grad_()
    (expected,) = torch.autograd.grad(getattr(torch, op)(x, dim), x, g.float())
    atol = 0.02 * expected.abs().max().item()  # y, of which dx is made, was rounded to 8 bits
    torch.testing.assert_close(dx.float(), expected, rtol=0.02, atol=atol)


@pytest.mark.parametrize("cols", [65_537, 1_500_001])
@one_op
def test_long_rows(op, cols, launches, device):
    torch.manual_seed(2)
    wide = torch.randn(3, cols + 5, device=device)
    x = wide[:, 2:-3].requires_grad_()
    y = getattr(kernels, op)(x, 1)
    assert_right(y.detach(), x.detach(), 1, op)
    g = torch.randn_like(y)
    (dx,) = torch.autograd.grad(y, x, g)
    expected = torch.autograd.grad(getattr(torch, op)(x, 1), x, g)[0]
    torch.testing.assert_close(dx, expected, rtol=1e-4, atol=1e-6 * expected.abs().max().item())
    assert len(launches) == 2


@pytest.mark.parametrize("expanded", [slow(False), True])
@pytest.mark.parametrize(
    ("dtype", "cols", "kept"),
    [
        (torch.float32, 8192, True),
        (torch.float32, 50_304, True),
        (torch.bfloat16, 262_144, True),
        (torch.bfloat16, 50_257, False),  # not aligned
        (torch.float32, 4096, False),  # short
        (torch.float32, 300_000, False),  # more than a cluster holds
    ],
)
@one_op
def test_the_backward_keeps_long_aligned_rows(
    op, dtype, cols, kept, expanded, launches, device, monkeypatch
):
    from kernels.cuda import launch

    torch.manual_seed(3)
    x = torch.randn(5, cols, device=device).to(dtype).requires_grad_()
    g = torch.randn(cols, device=device).to(dtype).expand(5, cols)
    g = g if expanded else g.contiguous()
    y = getattr(kernels, op)(x, 1)
    monkeypatch.setattr(launch, "_ready", {})
    (dx,) = torch.autograd.grad(y, x, g)
    assert [ready.spec.source.stem for ready in launch.launched()] == ["cuda_backward"] * kept
    wide = x.detach().double().requires_grad_()
    (expected,) = torch.autograd.grad(getattr(torch, op)(wide, 1), wide, g.double())
    tolerance = 1e-5 if dtype == torch.float32 else 0.02
    atol = tolerance * expected.abs().max().item()
    torch.testing.assert_close(dx.double(), expected, rtol=tolerance, atol=atol)


@pytest.mark.parametrize("dim", [-1, 1])
@one_op
def test_captured_in_a_cuda_graph(op, dim, launches, device):
    def step():
        y = getattr(kernels, op)(x, dim)
        return y, *torch.autograd.grad(y, x, g)

    x = torch.zeros(4, 33, 70, device=device, requires_grad=True)
    g = torch.zeros_like(x)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # compile and load first, as torch asks for
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, dx = step()
    torch.manual_seed(3)
    with torch.no_grad():
        x.normal_()
        g.normal_()
    graph.replay()
    torch.cuda.synchronize()
    expected = getattr(torch, op)(x, dim)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(dx, *torch.autograd.grad(expected, x, g))
    assert len(launches) == 4


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@one_op
def test_compiled_by_inductor(op, mode, launches, device):
    torch._dynamo.reset()

    def model(module, a):
        return getattr(module, op)(a * 2, 1, dtype=torch.float32).cos() + a

    compiled = torch.compile(lambda a: model(kernels, a), fullgraph=True, mode=mode)
    for _ in range(4):  # reduce-overhead records a CUDA graph on the second call and replays it
        ours = torch.randn(8, 50, 20, device=device, dtype=torch.float16).requires_grad_()
        torchs = ours.detach().clone().requires_grad_()
        y, expected = compiled(ours), model(torch, torchs)
        torch.testing.assert_close(y, expected)
        y.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(ours.grad, torchs.grad, rtol=5e-3, atol=5e-3)
    assert launches


@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.float16), torch.bfloat16], ids=str)
@one_op
def test_under_autocast_as_torch(op, dtype, launches, device):
    torch._dynamo.reset()
    x = torch.randn(5, 40, device=device).to(dtype)
    compiled = torch.compile(getattr(kernels, op), fullgraph=True, backend="aot_eager")
    with torch.autocast("cuda", torch.bfloat16):
        for words in ((1,), (1, torch.float16)):
            expected = getattr(torch, op)(x, *words)
            for function in (getattr(kernels, op), compiled):
                torch.testing.assert_close(function(x, *words), expected)
    assert len(launches) == 4


def test_a_tensor_on_another_gpu_than_the_current_one(launches):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    with torch.cuda.device(0):
        for dim in (0, 1):
            x = torch.randn(40, 50, device="cuda:1", requires_grad=True)
            y = kernels.softmax(x, dim)
            assert y.device == x.device
            torch.testing.assert_close(y, torch.softmax(x, dim))
            y.cos().sum().backward()
            assert x.grad.device == x.device
        assert torch.cuda.current_device() == 0
    assert len(launches) == 4


@pytest.mark.parametrize("dim", [1, 0])
def test_it_waits_for_nothing_and_takes_no_memory_but_the_results(dim, launches, device):
    x = torch.randn(1024, 2048, device=device, requires_grad=True)
    g = torch.randn_like(x)
    for measured in (False, True):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        torch.cuda.set_sync_debug_mode("error" if measured else "default")
        try:
            y = kernels.softmax(x, dim)
            (dx,) = torch.autograd.grad(y, x, g)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert torch.cuda.max_memory_allocated() - before <= 2 * x.nbytes + 1024
    del y, dx
