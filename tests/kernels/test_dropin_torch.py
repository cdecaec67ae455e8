"""The drop-in inside torch: compilers, transforms, modes, checks of torch's own."""

import functools

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.func import grad, hessian, vmap
from torch.fx.experimental.proxy_tensor import make_fx

import kernels
from kernels.dropin import eligible
from kernels.dropin.functions import FUNCTIONS
from kernels.dropin.logits import rows
from tests.kernels.helpers.dropin import one_op
from tests.marks import slow

OPERATOR = "softmax_bench::softmax"


@pytest.fixture
def x(device):
    torch.manual_seed(0)
    return torch.randn(3, 4, 5, device=device)


def profiled(function) -> set[str]:
    """Return the names of the operators that torch's profiler sees in a call."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        function()
    return {event.key for event in profile.key_averages()}


def test_nothing_of_torch_stands_between_an_eager_call_and_the_kernel(x, launches):
    seen = profiled(lambda: kernels.softmax(x, 1))
    assert not seen & {OPERATOR, "aten::softmax", "aten::_softmax"}
    leaf = x.clone().requires_grad_()
    seen = profiled(lambda: kernels.softmax(leaf, 1).backward(x))
    assert not any("softmax_bench" in name for name in seen)
    assert len(launches) == 3
    outputs = []
    with torch.inference_mode():
        seen = profiled(lambda: outputs.append(kernels.softmax(x.clone(), 1)))
    assert OPERATOR not in seen
    assert outputs[0].is_inference()
    torch.testing.assert_close(outputs[0], torch.softmax(x, 1))


def tangent(f, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, x.cos()), 1)).tangent


# transform of a softmax; kernels run where it begins with vmap, else torch computes it
TRANSFORMS = {
    "vmap": lambda f: vmap(lambda a: f(a, -1)),
    "vmap over another dimension": lambda f: vmap(lambda a: f(a, 0), in_dims=1, out_dims=2),
    "vmap of vmap": lambda f: vmap(vmap(lambda a: f(a, 0), in_dims=1)),
    "vmap, cast": lambda f: vmap(lambda a: f(a.half(), 1, dtype=torch.float32)),
    "grad": lambda f: grad(lambda a: f(a, 1).cos().sum()),
    "grad under vmap": lambda f: vmap(grad(lambda a: f(a, 1).cos().sum())),
    "hessian": lambda f: hessian(lambda a: f(a, 1).cos().sum()),
    "forward mode": lambda f: functools.partial(tangent, f),
}
COMPILED = "vmap", "grad", "grad under vmap"


@pytest.mark.parametrize(
    ("name", "compiled"), [*((n, False) for n in TRANSFORMS), *((n, True) for n in COMPILED)]
)
@one_op
def test_transforms(op, name, compiled, x, launches, reset_dynamo):
    make = TRANSFORMS[name]
    ours = make(getattr(kernels, op))
    ours = torch.compile(ours, fullgraph=True, backend="aot_eager") if compiled else ours
    torch.testing.assert_close(ours(x), make(getattr(torch, op))(x))
    assert bool(launches) == name.startswith("vmap")


@one_op
def test_gradients_and_vmap_in_either_order(op, x, launches):
    """The backward's own rule, with y the same for all; and is_grads_batched, an older vmap."""
    gs = torch.randn(2, *x.shape, device=x.device)
    outputs = []
    for module in (kernels, torch):
        leaf = x.clone().requires_grad_()
        f = getattr(module, op)
        vmap(lambda a, f=f: f(a, 0), in_dims=2)(leaf).square().sum().backward()
        y = f(leaf, 1)
        backward = vmap(lambda g, y=y, x=leaf: torch.autograd.grad(y, x, g, retain_graph=True)[0])
        older = torch.autograd.grad(y, leaf, gs, is_grads_batched=True, retain_graph=True)
        outputs.append((leaf.grad, backward(gs), *older))
    torch.testing.assert_close(*outputs)
    assert len(launches) == 2 + 1 + len(gs) + 1


FLOAT32 = torch.float32  # out of float16


@pytest.mark.parametrize(
    ("log", "dtype"), [(False, None), (True, FLOAT32), slow(False, FLOAT32), slow(True, None)]
)
def test_torchs_check_of_the_operators(log, dtype, x, launches):
    function = FUNCTIONS[log]
    leaf = (x if dtype is None else x.half()).transpose(0, 2).requires_grad_()
    torch.library.opcheck(function.operator, (leaf, 1, dtype))
    y = getattr(torch, function.name)(leaf.detach(), 1, dtype=dtype).requires_grad_()
    g = torch.randn_like(y).requires_grad_()
    torch.library.opcheck(function.gradient.operator, (g, y, 1, leaf.dtype))
    assert launches


@pytest.mark.parametrize("dynamic", [False, True])
@one_op
def test_compiled_in_one_graph(op, dynamic, launches, device, reset_dynamo):
    def model(module, a):
        half = module.softmax(a * 2, -1, dtype=torch.bfloat16)
        return getattr(module, op)(half, 1, torch.float32)

    compiled = torch.compile(
        lambda a: model(kernels, a), fullgraph=True, backend="aot_eager", dynamic=dynamic
    )
    for shape in ((3, 4, 5), (2, 6, 7)):
        ours, torchs = (torch.randn(shape, device=device).requires_grad_() for _ in range(2))
        torchs.data.copy_(ours.data)
        y, expected = compiled(ours), model(torch, torchs)
        torch.testing.assert_close(y, expected, rtol=2e-2, atol=2e-2)
        y.cos().sum().backward()
        expected.cos().sum().backward()
        torch.testing.assert_close(ours.grad, torchs.grad, rtol=5e-2, atol=5e-2)
    assert len(launches) == 8


@pytest.mark.parametrize("whole", [True, False])
@one_op
def test_a_backward_compiled_by_itself(op, whole, x, launches, reset_dynamo):
    """Compiled autograd traces what an eager forward left for its backward."""
    outputs = []
    for module in (kernels, torch):
        leaf = x.clone().requires_grad_()
        loss = getattr(module, op)(leaf.cos(), 1).square().sum()
        compiler = functools.partial(torch.compile, backend="aot_eager", fullgraph=whole)
        with torch._dynamo.compiled_autograd._enable(compiler):
            loss.backward()
        outputs.append(leaf.grad)
    torch.testing.assert_close(*outputs)
    assert len(launches) == 2


@pytest.fixture
def torch_for_cuda(monkeypatch):
    """Let torch be one that is made for CUDA; nothing remembers whether kernels run on a GPU."""
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    for function in (eligible.runs_kernels, rows._runs_on):
        function.cache_clear()
    yield
    for function in (eligible.runs_kernels, rows._runs_on):
        function.cache_clear()


@pytest.mark.parametrize("strict", [False, True])
def test_exported_for_a_gpu(strict, torch_for_cuda, monkeypatch):
    """Where there is none: what a compiler asks of the device it can answer without one."""

    class Model(torch.nn.Module):
        def forward(self, a):
            wide = kernels.log_softmax(a, 0, dtype=torch.float32)
            return kernels.softmax(a, 1), wide, kernels.softmax(a, 0, dtype=torch.float64)

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index=0: (9, 0))
    with FakeTensorMode(allow_non_fake_inputs=True):
        a = torch.empty(3, 4, device="cuda", dtype=torch.bfloat16)
        exported = torch.export.export(Model(), (a,), strict=strict)
    called = [str(n.target) for n in exported.graph.nodes if n.op == "call_function"]
    operators = [f"softmax_bench.{name}.default" for name in ("log_softmax", "softmax")]
    assert sorted(called) == ["aten.softmax.int", *operators]


@pytest.mark.parametrize("mode", ["real", "symbolic"])
def test_traced_it_is_one_operator(mode, x, launches):
    kernels.softmax(x, 1)  # without a trace it goes to the kernel directly
    traced = make_fx(lambda a: kernels.softmax(a, 1), tracing_mode=mode)(x)
    assert torch.ops.softmax_bench.softmax.default in {n.target for n in traced.graph.nodes}
    scripted = torch.jit.trace(lambda a: kernels.softmax(a, 1), x)
    assert OPERATOR in str(scripted.graph)
    for program in (traced, scripted):
        torch.testing.assert_close(program(x + 1), torch.softmax(x + 1, 1))


def test_a_mode_sees_the_operator(x, launches):
    kernels.softmax(x, 1)  # its launch is known by now

    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.functions = [*getattr(self, "functions", []), function]
            return function(*args, **(kwargs or {}))

    with Seen() as seen:
        y = kernels.softmax(x, 1)
    assert seen.functions[0] == torch.ops.softmax_bench.softmax.default
    with torch.device(x.device):  # a mode of the other kind
        torch.testing.assert_close(kernels.softmax(x, 1), y)
    assert len(launches) == 3


def test_a_tensor_whose_memory_does_not_hold_its_values(launches, device):
    """Negated, and zeros without memory: of the class torch.Tensor all the same."""
    negated = torch.randn(3, 4, dtype=torch.complex64, device=device).conj().imag
    kernels.softmax(torch.zeros(3, 4, device=device), 1)
    for x in (negated, torch._efficientzerotensor((3, 4), device=device)):
        torch.testing.assert_close(kernels.softmax(x, 1), torch.softmax(x.clone(), 1))
    assert len(launches) == 3


@one_op
def test_autocast_asks_for_float32(op, x, launches):
    """torch's rule for GPUs, which can be switched on where there is none."""
    half, function = x.half(), getattr(kernels, op)
    torch.set_autocast_enabled("cuda", True)
    try:
        outputs = [function(half, 1), vmap(lambda a: function(a, 0))(half)]
        kept = function(half, 1, half.dtype)
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert [y.dtype for y in (*outputs, kept)] == [torch.float32, torch.float32, torch.float16]
    assert torch.equal(outputs[0], function(half, 1, torch.float32))
    assert function(half, 1).dtype == torch.float16


def test_fake_tensors_of_a_gpu_that_is_not_there(torch_for_cuda, monkeypatch):
    """As on a login node, whose torch is made for CUDA."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        x, index = (torch.empty(3, 4, device="cuda"), torch.zeros(3, device="cuda").long())
        shapes = [f.shape for f in (kernels.softmax(x, 1), kernels.logsumexp(x, 1))]
        shapes += [kernels.token_log_probs(x, index).shape, kernels.cross_entropy(x, index).shape]
    assert [*map(tuple, shapes)] == [(3, 4), (3,), (3,), ()]


def test_a_default_device_needs_no_dispatcher():
    x = torch.zeros(2, 3)
    with torch.device("cpu"):
        assert eligible.bypasses_dispatcher(x)
        with torch.overrides.TorchFunctionMode():
            assert not eligible.bypasses_dispatcher(x)
