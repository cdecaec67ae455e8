"""The drop-in as torch's functions: names, errors, and all that is torch's own to answer."""

import contextlib
import pickle
import pydoc
from unittest import mock

import pytest
import torch

import kernels
from kernels.dropin import routes
from kernels.dropin.functions import FUNCTIONS
from tests.kernels.helpers.dropin import OPS, assert_right
from tests.processes import run_code

WITHOUT_PACKAGES = """
import sys; sys.modules["cuda"] = None  # an import of it fails
import torch; from kernels import softmax
x = torch.randn(3, 4, requires_grad=True)
softmax(x, 1).sum().backward()
assert not {'triton', 'torch._dynamo'} & set(sys.modules)
from kernels.dropin.routes import triton_kernels
triton_kernels()
"""


def test_it_does_without_packages():
    """Without a GPU, Triton is never imported; Triton kernels need no cuda-core."""
    run_code(WITHOUT_PACKAGES)


def test_they_are_seen_in_the_package():
    assert {"softmax", "log_softmax", "replace_torch"} <= set(dir(kernels))
    shown = pydoc.render_doc(kernels, renderer=pydoc.plaintext)
    with pytest.raises(AttributeError, match="no attribute 'softmin'"):
        kernels.softmin  # noqa: B018
    for name in OPS:
        assert f" {name}(input: torch.Tensor, dim: int, dtype: " in shown
        function = getattr(kernels, name)
        assert pickle.loads(pickle.dumps(function)) is function


SOFTMAX = FUNCTIONS[0]


# a call of a function f, with what torch alone computes or refuses
OF_TORCH = {
    "float64": lambda f, x: f(x.double(), 1),
    "integers to float32": lambda f, x: f(x.long(), 1, dtype=torch.float32),
    "no element": lambda f, x: f(x[:0], 1),
    "no dimension": lambda f, x: f(x[0, 0], 0),
    "dim 2": lambda f, x: f(x, 2),
    "dim -3": lambda f, x: f(x, -3),
    "None": lambda f, x: f(x, None),
    "a dtype's name": lambda f, x: f(x, 0, dtype="float32"),
    "two dtypes": lambda f, x: torch._softmax_backward_data(x, x.double(), 1, torch.float64),
}
CALLS_OF_TORCH = [(name, False) for name in OF_TORCH]
# torch casts first, so its replaced operator gets float32
CALLS_OF_TORCH += [(name, True) for name in OF_TORCH if "to float32" not in name]


@pytest.mark.parametrize(("name", "replaced"), CALLS_OF_TORCH)
@pytest.mark.parametrize("op", OPS)
def test_torch_computes_what_the_kernels_do_not_take(op, replaced, name, launches, device):
    """With its results, and its errors; the drop-in's function, and torch's own if replaced."""

    def answer(module):
        try:
            return OF_TORCH[name](getattr(module, op), x)
        except (RuntimeError, NotImplementedError, IndexError, TypeError) as error:
            return type(error), str(error)

    x = torch.randn(3, 5, device=device)
    expected = answer(torch)
    with kernels.replace_torch() if replaced else contextlib.nullcontext():
        ours = answer(torch if replaced else kernels)
    assert not launches
    assert torch.equal(ours, expected) if torch.is_tensor(expected) else ours == expected


# a call that torch.nn makes of its functions; the first two have no dimension, and torch guesses it
LAYERS = {
    "no dimension": lambda nn, x: (nn.Softmax()(x), nn.LogSoftmax()(x)),
    "no dimension of a vector": lambda nn, x: nn.functional.softmax(x[0], None, _stacklevel=3),
    "layers": lambda nn, x: (nn.Softmax(1)(x), nn.LogSoftmax(0)(x), nn.Softmax2d()(x[None])),
    "dtype": lambda nn, x: nn.functional.log_softmax(x, 1, dtype=torch.float64),
}


@pytest.mark.parametrize("name", LAYERS)
def test_they_stand_in_for_the_functions_of_torch_nn(name, launches, device, monkeypatch):
    x = torch.randn(2, 3, 5, device=device)
    with pytest.warns() if "no dim" in name else contextlib.nullcontext():
        expected = LAYERS[name](torch.nn, x)
        for op in OPS:
            monkeypatch.setattr(torch.nn.functional, op, getattr(kernels, op))
        torch.testing.assert_close(LAYERS[name](torch.nn, x), expected)
    assert len(launches) == (3 if name == "layers" else 0)


@pytest.mark.parametrize("op", OPS)
def test_a_result_may_be_written_to_a_tensor(op, launches, device):
    """By torch, so with its rules: of any shape, whose memory it then has, but of the dtype."""
    x = torch.randn(3, 5, device=device)
    expected = getattr(torch, op)(x, 1)
    out = torch.empty(5, 3, device=device).t()
    function = getattr(kernels, op)
    assert function(x, 1, out=out) is out
    assert torch.equal(out, expected)
    answer = []
    for module in (kernels, torch):
        with pytest.raises(RuntimeError) as error:
            getattr(module, op)(x, 1, out=out.long())
        answer.append(str(error.value))
    assert answer[0] == answer[1]


@pytest.mark.parametrize("dim", [0, 1])
def test_strides_are_those_of_a_new_tensor(dim, launches, device):
    """Whatever dimensions of size 1 have; also when the launch is known, and in the gradient."""
    odd = torch.randn(5, 1, device=device).t()
    usual = torch.randn(1, 5, device=device)
    assert odd.is_contiguous()
    assert odd.stride() != usual.stride()
    for x in (odd, usual, odd):
        y = kernels.softmax(x, dim)
        assert y.stride() == torch.softmax(x, dim).stride() == (5, 1)
        (dx,) = torch.autograd.grad(
            kernels.softmax(leaf := x.detach().requires_grad_(), dim), leaf, torch.ones_like(y)
        )
        assert dx.stride() == (5, 1)
    assert SOFTMAX.gradient.launch(dim, odd.dtype, odd, odd).stride() == (5, 1)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("op", OPS)
def test_on_a_cpu_it_is_torch_itself(op, autocast):
    """The same bits, and torch's own derivative; and its autocast."""
    x = torch.randn(3, 5, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        y, expected = (getattr(module, op)(x @ x.T, 1) for module in (kernels, torch))
    assert torch.equal(y, expected)
    assert y.dtype == expected.dtype
    assert type(y.grad_fn) is type(expected.grad_fn)


def test_a_subclass_of_a_tensor_decides_for_itself(launches, device):
    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "mine" if function is torch.softmax else NotImplemented

    assert kernels.softmax(torch.zeros(2, 3, device=device).as_subclass(Own), 1) == "mine"
    assert not launches


# a call on x (4, 8) -> whether it takes the launch that is known for x's shape and dtype over dim 1
CALLS = {
    "the same": (lambda x: kernels.softmax(x, 1), True),
    "its own dtype": (lambda x: kernels.softmax(x, 1, x.dtype), True),
    "gradient": (lambda x: kernels.softmax(x.clone().requires_grad_(), 1), True),
    "operator": (lambda x: torch.ops.softmax_bench.softmax(x, 1, None), True),
    "16 bits": (lambda x: kernels.softmax(x.half(), 1), True),
    "autocast": (lambda x: kernels.softmax(x, 1), True),
    "autocast to 32 bits": (lambda x: kernels.softmax(x.half(), 1), True),
    "to 32 bits": (lambda x: kernels.softmax(x.bfloat16(), 1, torch.float32), False),
    "another dtype": (lambda x: kernels.softmax(x, 1, torch.bfloat16), False),
    "another dimension": (lambda x: kernels.softmax(x, 0), False),
    "log": (lambda x: kernels.log_softmax(x, 1), False),
    "fewer rows": (lambda x: kernels.softmax(x[:3], 1), False),
    "unaligned": (lambda x: kernels.softmax(x.new_zeros(33)[1:].view(4, 8), 1), False),
    "not contiguous": (lambda x: kernels.softmax(x.t().contiguous().t(), 1), False),
}


@pytest.fixture
def launch(monkeypatch):
    """What stands for a launch in CUDA C++, of softmax and of its gradient: it writes nothing."""
    launch = mock.Mock()
    launch.bound = launch.return_value.bind.return_value
    monkeypatch.setattr(
        routes, "cuda_kernels", lambda _: mock.Mock(forward=launch, backward=launch)
    )
    monkeypatch.setattr(routes, "MIN_BYTES", {True: 0})
    return launch


def test_a_launch_is_known_by_the_dimension_that_it_was_made_for(launch, launches, device):
    """Where another one is as long: a row of its, of as many numbers, is not a row of the other."""
    x = torch.zeros(5, 4, 5, device=device)
    SOFTMAX.launch(2, None, x)
    launch.return_value.bind.assert_called_once_with(5, 20, 5)
    for dim in (2, -1):
        y = SOFTMAX.known_launch(dim, None, x).repeat(x)
        launch.bound.assert_called_with(y.data_ptr(), x.data_ptr(), 5)
    assert launch.bound.call_count == 2
    assert SOFTMAX.known_launch(0, None, x) is SOFTMAX.known_launch(-3, None, x) is None


# g and y (4, 8) -> whether they take the launch that is known for such a gradient
GRADIENTS = {
    "the same": (lambda g, y: (g, y), True),
    "repeated rows": (lambda g, y: (g[0].expand(4, 8), y), False),
    "another dtype": (lambda g, y: (g.half(), y), False),
    "unaligned": (lambda g, y: (g.new_zeros(33)[1:].view(4, 8), y), False),
    "y unaligned": (lambda g, y: (g, y.new_zeros(33)[1:].view(4, 8)), False),
    "other strides": (lambda g, y: (g, y.t().contiguous().t()), False),
    "fewer rows": (lambda g, y: (g[:3], y[:3]), False),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_known_gradient_serves_only_what_it_was_made_for(name, launch, launches, device):
    gradient = SOFTMAX.gradient
    g, y = torch.zeros(2, 4, 8, device=device)
    gradient.launch(1, y.dtype, g, y)
    launch.return_value.bind.assert_called_once_with(8, 8, 8, 4, 8)
    call, takes_it = GRADIENTS[name]
    g, y = call(g, y)
    dx = gradient.launch(1, y.dtype, g, y)
    assert launch.bound.call_count == takes_it
    if takes_it:
        launch.bound.assert_called_once_with(dx.data_ptr(), g.data_ptr(), y.data_ptr())
    for dim, dtype in ((0, y.dtype), (1, torch.float16)):
        assert gradient.known_launch(dim, dtype, g, y) is None
    assert not FUNCTIONS[1].gradient.known_launches


FLOAT, HALF = torch.float32, torch.float16
KNOWN_DTYPES = (FLOAT, FLOAT), (HALF, HALF), (HALF, FLOAT)


@pytest.mark.parametrize("name", CALLS)
def test_a_known_launch_serves_only_what_it_was_made_for(name, launch, launches, device):
    """The others would get another function's results, or read other memory."""
    x = torch.zeros(4, 8, device=device)
    for dtype, out_dtype in KNOWN_DTYPES:
        SOFTMAX.launch(1, out_dtype, x.to(dtype))
    launches.clear()
    call, takes_it = CALLS[name]
    torch.set_autocast_enabled("cuda", "autocast" in name)
    try:
        call(x)
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert len(launches) == 1
    assert launch.bound.call_count == takes_it


@pytest.mark.parametrize("dim", [-1, 0])
def test_a_launch_in_triton_is_known_too(dim, launches, device, monkeypatch):
    """Of rows and of columns, in every dtype in and out, with the gradient; and it gives the same
    as the first one.
    """
    monkeypatch.setattr(routes, "cuda_kernels", lambda _: None)
    for dtype, out_dtype in KNOWN_DTYPES:
        x = torch.randn(5, 7, device=device).to(dtype).requires_grad_()
        g = torch.randn(5, 7, device=device, dtype=out_dtype)
        answers = []
        for first in (True, False):
            assert bool(SOFTMAX.known_launch(dim, out_dtype, x)) != first
            y = kernels.softmax(x, dim, out_dtype)
            answers.append((y.detach(), *torch.autograd.grad(y, x, g)))
        assert all(map(torch.equal, *answers))
        assert_right(y.detach(), x.detach().to(out_dtype), dim, "softmax")
    sizes = [len(noted) > 4 for noted in launches]  # sizes of a launch that was made anew
    assert sizes == [True, True, False, False] * 3
