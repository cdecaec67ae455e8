"""Calls of every kind of kernel are ordered on the caller's stream and captured in CUDA graphs."""

import pytest
import torch

from tests.kernels.test_peers import PROMPT
from tests.kernels.variants import CUDA, loaded

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh")]
every = pytest.mark.parametrize("name", [*CUDA, *PROMPT])


@every
def test_a_call_runs_on_the_callers_stream(name, device):
    """On a side stream, behind work that takes a while; a launch elsewhere would read zeros."""
    softmax = loaded(name).softmax
    x, ready = torch.zeros(4096, 512, device=device), torch.randn(4096, 512, device=device)
    out = torch.empty_like(x)
    softmax(x, out)  # compiled by now
    stream = torch.cuda.Stream(device)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.copy_(ready)
        softmax(x, out)
    stream.synchronize()
    torch.testing.assert_close(out, torch.softmax(ready, dim=-1))


@every
def test_calls_are_captured_on_buffers_in_turn(name, device):
    """The first call compiles, whatever the buffer; the capture only records."""
    softmax = loaded(name).softmax
    drawn = [torch.randn(64, 512, device=device) for _ in range(4)]
    pairs = [(x, torch.empty_like(x)) for x in drawn]
    softmax(*pairs[0])
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for pair in pairs:
            softmax(*pair)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == compiled
    for x, out in pairs:
        x.normal_()
        out.fill_(float("nan"))
    graph.replay()
    for x, out in pairs:
        torch.testing.assert_close(out, torch.softmax(x, dim=-1))
