"""The drop-in as torch's functions: names, errors, and all that is torch's own to answer."""

import inspect
import pickle
import pydoc

import pytest
import torch

import kernels
from tests.kernels.dropin import OPS, samples
from tests.marks import slow
from tests.processes import run_code

INVALID = [
    ((3,), {}),
    ((-4,), {}),
    ((1.5,), {}),
    (("columns",), {}),
    ((None,), {}),
    ((), {}),
    ((0,), {"dtype": "float32"}),
]


def test_without_a_gpu_triton_is_never_imported():
    """There are machines with torch and without Triton."""
    code = (
        "import sys, torch; from kernels import softmax\n"
        "x = torch.randn(3, 4, requires_grad=True)\n"
        "softmax(x, 1).sum().backward()\n"
        "assert 'triton' not in sys.modules\n"
        "assert 'kernels.dropin.dispatch' not in sys.modules\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    run_code(code)


def test_they_are_seen_in_the_package():
    assert {"softmax", "log_softmax", "names"} <= set(dir(kernels))
    shown = pydoc.render_doc(kernels, renderer=pydoc.plaintext)
    assert "softmax(input: torch.Tensor, dim: int" in shown
    with pytest.raises(AttributeError, match="no attribute 'softmin'"):
        kernels.softmin  # noqa: B018
    for name in OPS:
        function = getattr(kernels, name)
        assert list(inspect.signature(function).parameters) == ["input", "dim", "dtype"]
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("words", INVALID, ids=str)
@pytest.mark.parametrize("op", OPS)
def test_errors_are_torchs(op, words, launches, device):
    def raised(function):
        with pytest.raises((IndexError, TypeError, RuntimeError)) as info:
            function(torch.zeros(2, 3, 4, device=device), *words[0], **words[1])
        return info.type, str(info.value)

    ours, torchs = raised(getattr(kernels, op)), raised(getattr(torch, op))
    # a missing argument is Python's to report, with the name of the function it misses
    assert ours[0] is torchs[0]
    assert ours[1] == torchs[1] or words == ((), {})
    assert not launches


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64], ids=str)
@pytest.mark.parametrize("op", OPS)
def test_integers_and_complex_numbers_are_torchs(op, dtype, launches, device):
    x = torch.ones(2, 3, device=device).to(dtype)

    def answer(module):
        try:
            return getattr(module, op)(x, 1).tolist()
        except (RuntimeError, NotImplementedError) as error:
            return type(error), str(error)

    assert answer(kernels) == answer(torch)
    if dtype != torch.complex64:
        y = getattr(kernels, op)(x, 1, dtype=torch.float32)
        torch.testing.assert_close(y, getattr(torch, op)(x, 1, dtype=torch.float32))
    assert not launches


@pytest.mark.parametrize(
    "dtype", [torch.float32, slow(torch.float64), slow(torch.bfloat16)], ids=str
)
@pytest.mark.parametrize("op", OPS)
def test_on_a_cpu_it_is_torch_itself(op, dtype):
    """torch's own test inputs: the same bits, forward and backward."""
    for x, words, options in samples(op, torch.device("cpu"), dtype):
        ours, torchs = (x.clone().requires_grad_() for _ in range(2))
        y = getattr(kernels, op)(ours, *words, **options)
        expected = getattr(torch, op)(torchs, *words, **options)
        assert torch.equal(y, expected)
        assert y.dtype == expected.dtype
        assert type(y.grad_fn) is type(expected.grad_fn)
        y.sum().backward()
        expected.sum().backward()
        assert torch.equal(ours.grad, torchs.grad)


def test_a_subclass_of_a_tensor_decides_for_itself(launches, device):
    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "mine" if function is torch.softmax else NotImplemented

    assert kernels.softmax(torch.zeros(2, 3, device=device).as_subclass(Own), 1) == "mine"
    assert not launches


def test_on_a_cpu_torchs_autocast_decides():
    x = torch.randn(4, 5, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        y, expected = kernels.softmax(x, 1), torch.softmax(x, 1)
    assert y.dtype == expected.dtype
    assert torch.equal(y, expected)


WITHOUT_CUDA_CORE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "cuda":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import kernels.dropin.dispatch, kernels.dropin.inner_dim
"""


def test_its_triton_kernels_need_no_cuda_core():
    run_code(WITHOUT_CUDA_CORE)
