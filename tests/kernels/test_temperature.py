"""softmax with a temperature: torch's softmax of the divided logits, in one rounding."""

import pytest
import torch

import kernels

FUNCTIONS = ("softmax", "log_softmax")
DTYPES = (torch.float32, torch.bfloat16, torch.float64)


def expected(name: str, x: torch.Tensor, dim: int, temperature) -> torch.Tensor:
    """torch's result in float64."""
    if isinstance(temperature, torch.Tensor):
        temperature = temperature.double().unsqueeze(dim)
    return getattr(torch, name)(x.double() / temperature, dim)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dim", [-1, 0])
def test_a_number_and_a_tensor_divide_the_input(name, dim, dtype):
    x = torch.randn(4, 33).to(dtype)
    by_row = torch.tensor([0.3, 1.0, 2.0, 7.0]) if dim == -1 else torch.rand(33) + 0.5
    for temperature in (0.7, by_row):
        y = getattr(kernels, name)(x, dim, temperature=temperature)
        assert y.dtype is dtype
        torch.testing.assert_close(y, expected(name, x, dim, temperature).to(dtype))


def test_the_output_may_have_another_dtype_or_be_given():
    x = torch.randn(4, 33).bfloat16()
    y = kernels.softmax(x, -1, dtype=torch.float32, temperature=0.5)
    torch.testing.assert_close(y, expected("softmax", x, -1, 0.5).float())
    out = torch.empty(4, 33)
    returned = kernels.softmax(x, -1, dtype=torch.float32, temperature=0.5, out=out)
    assert returned is out
    assert torch.equal(out, y)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_torch(name):
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64)
    function = getattr(kernels, name)
    assert torch.autograd.gradcheck(lambda a: function(a, -1, temperature=temperature), x)
    assert torch.autograd.gradcheck(lambda a: function(a, 0, temperature=2.5), x)


def test_masked_logits_stay_masked():
    x = torch.tensor([[0.0, -torch.inf, 1.0], [-torch.inf, -torch.inf, 2.0]])
    y = kernels.softmax(x, -1, temperature=0.25)
    assert y[0, 1] == 0
    assert torch.equal(y[1], torch.tensor([0.0, 0.0, 1.0]))


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan")])
def test_a_temperature_that_is_none_is_refused(temperature):
    with pytest.raises(ValueError, match=r"temperature = .*; a number above 0 is needed"):
        kernels.softmax(torch.zeros(2, 3), -1, temperature=temperature)


def test_sampling_takes_the_arguments_of_flashinfer():
    logits = torch.randn(3, 50).half()
    plain = kernels.sampling_softmax(logits)
    assert plain.dtype is torch.float32
    torch.testing.assert_close(plain, expected("softmax", logits, -1, 1.0).float())
    temperatures = torch.tensor([0.5, 0.0, 2.0])
    y = kernels.sampling_softmax(logits, temperatures, enable_pdl=True)
    torch.testing.assert_close(y[0], expected("softmax", logits[:1], -1, 0.5).float()[0])
    torch.testing.assert_close(y[1], torch.full((50,), 1 / 50)), "0 makes all equally likely"
    assert torch.equal(y[1], kernels.sampling_softmax(logits, 0)[1])
    assert torch.equal(y[2], kernels.sampling_softmax(logits, 2.0)[2])
    masked = torch.tensor([[1.0, -torch.inf, 2.0]])
    for temperature in (0, torch.zeros(1)):
        y = kernels.sampling_softmax(masked, temperature)
        assert torch.equal(y, torch.tensor([[0.5, 0.0, 0.5]])), "a mask stays a mask"
    with pytest.raises(ValueError, match="a number above 0"):
        kernels.sampling_softmax(logits, -1.0)


def test_a_compiler_sees_one_graph(reset_dynamo):
    x = torch.randn(3, 7)
    compiled = torch.compile(
        lambda a: kernels.softmax(a, -1, temperature=0.5), backend="eager", fullgraph=True
    )
    torch.testing.assert_close(compiled(x), torch.softmax(x / 0.5, -1))
