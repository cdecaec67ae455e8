"""softmax and log_softmax of x / temperature, and FlashInfer's softmax for sampling."""

import itertools

import numpy as np
import pytest
import torch

from kernels.dropin.api import log_softmax, sampling_softmax, softmax

FUNCTIONS = ((softmax, torch.softmax), (log_softmax, torch.log_softmax))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_it_divides_the_input_in_one_rounding(dim, dtype):
    x, by_row = torch.randn(4, 33).to(dtype), torch.rand(33 if dim == 0 else 4) + 0.5
    divisors = (0.7, 0.7), (torch.tensor(0.7), 0.7), (by_row, by_row.double().unsqueeze(dim))
    for (temperature, divisor), (ours, torchs) in itertools.product(divisors, FUNCTIONS):
        y = ours(x, dim, temperature=temperature)
        torch.testing.assert_close(y, torchs(x.double() / divisor, dim).to(dtype))


def test_a_tiny_temperature_does_not_overflow():
    x = torch.linspace(-1, 1, 33)
    for ours, torchs in FUNCTIONS:
        torch.testing.assert_close(ours(x, 0, temperature=1e-30), torchs(x / 1e-30, 0))


def test_the_output_may_have_another_dtype_or_be_passed():
    x, out = torch.randn(4, 33).bfloat16(), torch.empty(4, 33)
    y = softmax(x, -1, dtype=torch.float32, temperature=0.5)
    torch.testing.assert_close(y, torch.softmax(x.double() / 0.5, -1).float())
    assert softmax(x, -1, dtype=torch.float32, temperature=0.5, out=out) is out
    assert torch.equal(out, y)


@pytest.mark.parametrize("function", [softmax, log_softmax])
def test_gradients_are_those_of_torch(function):
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda a: function(a, -1, temperature=temperature), x)
    assert torch.autograd.gradcheck(lambda a: function(a, 0, temperature=2.5), x)


def test_masked_logits_stay_masked():
    x = torch.tensor([[0.0, -torch.inf, 1.0], [-torch.inf, -torch.inf, 2.0]])
    y = softmax(x, -1, temperature=0.25)
    assert y[0, 1] == 0
    assert torch.equal(y[1], torch.tensor([0.0, 0.0, 1.0]))


@pytest.mark.parametrize("shape", [(4, 1), (1,), (8,), (1, 4)])
def test_a_tensor_of_another_shape_is_refused(shape):
    x, temperature = torch.randn(4, 8), torch.ones(shape)
    for call in (softmax, log_softmax):
        with pytest.raises(ValueError, match=r"temperature has shape .*; allowed: \(4,\), or a"):
            call(x, 1, temperature=temperature)
    with pytest.raises(ValueError, match="temperature has shape"):
        sampling_softmax(x, temperature)


def test_what_torch_refuses_is_refused_with_a_temperature_too():
    integers = torch.tensor([1, 2, 3])
    with pytest.raises(NotImplementedError):
        softmax(integers, -1, temperature=1.0)
    with pytest.raises(NotImplementedError):
        softmax(integers.float(), -1, dtype=torch.int64, temperature=1.0)
    with pytest.raises(TypeError):
        softmax([1.0, 2.0], 0, temperature=1.0)
    with pytest.raises(TypeError):
        softmax(torch.ones(3), 0, dtype="float32", temperature=1.0)
    with pytest.raises(TypeError):
        softmax(torch.ones(3), 0, temperature=1.0, out=[0.0])
    with pytest.raises(RuntimeError, match="out tensor to have dtype"):
        softmax(torch.ones(3), 0, temperature=1.0, out=torch.empty(3).double())


@pytest.mark.parametrize("dim", [np.int64(1), np.uint8(1), torch.tensor(1), torch.tensor(-1).int()])
@pytest.mark.parametrize("temperature", [0.1, torch.tensor([0.1, 0.2])])
def test_a_dimension_may_be_any_integer_that_torch_accepts(dim, temperature):
    x, out = torch.randn(2, 3), torch.empty(2, 3)
    expected = softmax(x, 1, temperature=temperature)
    assert softmax(x, dim, temperature=temperature, out=out) is out
    assert torch.equal(out, expected)


class OnlyAnIndex:
    def __index__(self):
        return 0


@pytest.mark.parametrize(
    "dim",
    [
        2,
        -3,
        True,
        np.True_,
        torch.tensor([1]),
        torch.tensor(True),
        1.0,
        "1",
        (1,),
        None,
        OnlyAnIndex(),
    ],
)
@pytest.mark.parametrize("temperature", [0.1, torch.tensor([0.1, 0.2])])
def test_a_dimension_that_torch_refuses_is_refused_in_its_words(dim, temperature):
    messages = []
    for options in ({}, {"temperature": temperature}):
        with pytest.raises((TypeError, IndexError)) as refusal:
            softmax(torch.ones(2, 3), dim, **options)
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_temperature_may_be_any_real_number(dtype):
    x = torch.randn(2, 3).to(dtype)
    for half in (np.float32(0.5), np.array(0.5), torch.tensor(0.5).double(), np.float64(0.5)):
        assert torch.equal(softmax(x, 1, temperature=half), softmax(x, 1, temperature=0.5))
        assert torch.equal(sampling_softmax(x, half), sampling_softmax(x, 0.5))
    for number in (2, torch.tensor(2), np.int64(2)):
        assert torch.equal(softmax(x, 1, temperature=number), softmax(x, 1, temperature=2.0))
    for refused in (0.5 + 1j, torch.tensor(0.5 + 1j), torch.tensor([1j, 1]), "0.5", [0.5, 1.0]):
        with pytest.raises(TypeError):
            softmax(x, 1, temperature=refused)
        with pytest.raises(TypeError):
            sampling_softmax(x, refused)


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan")])
def test_a_number_that_is_not_above_0_is_refused(temperature):
    with pytest.raises(ValueError, match=r"temperature = .*; a number above 0 is needed"):
        softmax(torch.zeros(2, 3), -1, temperature=temperature)


def test_sampling_takes_the_arguments_of_flashinfer():
    logits = torch.randn(3, 50).half()
    plain = sampling_softmax(logits)
    assert plain.dtype is torch.float32
    torch.testing.assert_close(plain, torch.softmax(logits.float(), -1))
    y = sampling_softmax(logits, torch.tensor([0.5, 0.0, 2.0]), enable_pdl=True)
    torch.testing.assert_close(y[0], torch.softmax(logits[0].double() / 0.5, -1).float())
    for row, temperature in ((1, 0), (2, 2.0)):
        assert torch.equal(y[row], sampling_softmax(logits, temperature)[row])
    with pytest.raises(ValueError, match="a number from 0 on"):
        sampling_softmax(logits, -1.0)


@pytest.mark.parametrize("temperature", [0, torch.zeros(1), torch.tensor(0.0)])
def test_sampling_at_zero_makes_finite_logits_equally_likely(temperature):
    logits, third = torch.tensor([[1.0, 5.0, -torch.inf, 0.0]]), 1 / 3
    expected = torch.tensor([[third, third, 0, third]])
    torch.testing.assert_close(sampling_softmax(logits, temperature), expected)


def test_a_compiler_sees_one_graph(reset_dynamo):
    x = torch.randn(3, 7)
    compiled = torch.compile(
        lambda a: softmax(a, -1, temperature=0.5), backend="eager", fullgraph=True
    )
    torch.testing.assert_close(compiled(x), torch.softmax(x / 0.5, -1))
