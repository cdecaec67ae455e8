"""The same point gives the same matrix, whichever variant asks."""

import pytest
import torch

import operations
from measure import inputs


def is_standard_normal(x) -> bool:
    return abs(x.float().mean()) < 0.05 and abs(x.float().std() - 1) < 0.05


def test_a_matrix_is_its_distribution_and_seed_rounded(device):
    dtype, size = torch.float16, (300, 100)
    first = inputs.draw("normal", dtype, size, 5, device)
    assert torch.equal(first, inputs.draw("normal", dtype, size, 5, device))
    assert not torch.equal(first, inputs.draw("normal", dtype, size, 6, device))
    assert (first.dtype, is_standard_normal(first)) == (dtype, True)
    uniform = inputs.draw("uniform", torch.float32, size, 5, device)
    assert 0 <= uniform.min() < 0.01
    assert 0.99 < uniform.max() <= 1
    (rounded,) = inputs.draw_for("softmax", "uniform", dtype, *size, 5, device)
    assert torch.equal(rounded, uniform.to(dtype))


def test_a_backward_reads_a_gradient_and_torchs_output(device):
    forward, dtype = "log_softmax", torch.bfloat16
    matrix = f"{forward}_backward", "uniform", dtype, 300, 100
    g, y = inputs.draw_for(*matrix, 5, device)
    x = inputs.draw("uniform", dtype, (300, 100), 5, device)
    assert torch.equal(y, getattr(torch, forward)(x.float(), dim=1).to(dtype))
    assert (g.dtype, is_standard_normal(g)) == (dtype, True)
    again, reseeded = (inputs.draw_for(*matrix, seed, device) for seed in (5, 6))
    assert all(map(torch.equal, (g, y), again))
    assert not any(map(torch.equal, (g, y), reseeded))


def test_an_index_is_one_of_a_row_s_elements(device):
    index = operations.Operand("index", ("M",), "int64")
    first, again, reseeded = (
        inputs.draw_operand(index, torch.float16, 300, 7, seed, device) for seed in (5, 5, 6)
    )
    assert (first.shape, first.dtype, set(first.tolist())) == ((300,), torch.int64, {*range(7)})
    assert torch.equal(first, again)
    assert not torch.equal(first, reseeded)


@pytest.mark.parametrize(
    ("call_bytes", "cache", "calls"),
    [(2, 60, 91), (1024, 60, 2), (180, 60, 2), (1, 1, 4), (1, 10**6, inputs.MAX_ROTATION)],
)
def test_the_rotation_exceeds_three_caches_unless_a_graph_cannot_bear_it(call_bytes, cache, calls):
    assert inputs.rotation_length(call_bytes, cache) == calls
