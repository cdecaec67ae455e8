"""softmax and log_softmax of x / temperature, and FlashInfer's softmax for sampling."""

import pytest
import torch

from kernels.dropin.api import log_softmax, sampling_softmax, softmax


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("temperature", [0.7, "tensor", "0-d", 1e-30])
def test_it_divides_the_input(dim, temperature):
    torch.manual_seed(1)
    x, shape = torch.randn(4, 8), [8 if dim == 0 else 4]
    divisor = {"tensor": torch.rand(shape) + 0.5, "0-d": torch.tensor(0.7)}.get(temperature)
    temperature = temperature if divisor is None else divisor
    along = divisor.unsqueeze(dim) if divisor is not None and divisor.dim() else temperature
    for ours, theirs in ((softmax, torch.softmax), (log_softmax, torch.log_softmax)):
        right = theirs(x / along, dim)
        torch.testing.assert_close(ours(x, dim, temperature=temperature), right)


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
    with pytest.raises(IndexError):
        softmax(torch.ones(2, 3), 2, temperature=torch.ones(2))
    with pytest.raises(RuntimeError, match="out tensor to have dtype"):
        softmax(torch.ones(3), 0, temperature=1.0, out=torch.empty(3).double())
    with pytest.raises(ValueError, match="temperature = 0; a number above 0"):
        softmax(torch.ones(3), 0, temperature=0)


def test_sampling_at_zero_makes_finite_logits_equally_likely():
    logits = torch.tensor([[1.0, 5.0, -torch.inf, 0.0]])
    third = torch.tensor([[1 / 3, 1 / 3, 0, 1 / 3]])
    for temperature in (0, torch.zeros(1), torch.tensor(0.0)):
        torch.testing.assert_close(sampling_softmax(logits, temperature), third)
    torch.testing.assert_close(sampling_softmax(logits[0], 0), third[0])
