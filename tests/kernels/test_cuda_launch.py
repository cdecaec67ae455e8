"""Kernels behave on a GPU as torch's own operators do: streams, threads, graphs, devices."""

import threading

import pytest
import torch

import kernels
from kernels.cuda import launch
from measure import compiled_stats
from tests.kernels.helpers.variants import CUDA, PEERS, loaded
from tests.kernels.test_peers import CONFIGS
from tests.marks import slow

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("reset_dynamo")]


@pytest.mark.parametrize("name", [*CUDA, *PEERS, slow(CONFIGS[0])])
def test_calls_run_on_the_callers_stream_and_are_captured_there(name, device):
    """Behind work that takes a while: a launch on another stream would read zeros.

    The first call compiles, whatever the buffer; a capture only records.
    """
    softmax = loaded(name).softmax
    ready = [torch.randn(4096, 512, device=device) for _ in range(3)]
    pairs = [(torch.zeros_like(x), torch.empty_like(x)) for x in ready]
    softmax(*pairs[0])
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]

    def calls() -> None:
        torch.cuda._sleep(50_000_000)
        for (x, out), values in zip(pairs, ready, strict=True):
            x.copy_(values)
            softmax(x, out)

    stream, graph = torch.cuda.Stream(device), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        calls()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == compiled
    for run in (calls, graph.replay):
        with torch.cuda.stream(stream):
            run()
        stream.synchronize()
        for (x, out), values in zip(pairs, ready, strict=True):
            torch.testing.assert_close(out, torch.softmax(values, dim=-1))
            x.zero_()
            out.fill_(float("nan"))
        torch.cuda.synchronize()


def test_threads_that_never_used_the_gpu_may_call(device):
    """One after the other, so that the system gives them the same number."""
    softmax = kernels.load("cuda_oneflow").softmax
    x, out = torch.randn(64, 300, device=device), torch.empty(64, 300, device=device)
    softmax(x, out)
    expected = torch.softmax(x, dim=-1)
    for _ in range(3):
        out.zero_()
        torch.cuda.synchronize()
        # given out, torch itself does nothing in the thread that would need the GPU
        thread = threading.Thread(target=softmax, args=(x, out))
        thread.start()
        thread.join()
        torch.cuda.synchronize()
        torch.testing.assert_close(out, expected)


def test_the_tensor_says_which_device(device):
    """Also when it is not the current GPU, and then the current one stays so."""
    for name in CUDA:
        with pytest.raises(ValueError, match="x is on the device cpu"):
            kernels.load(name).softmax(torch.randn(4, 8))
        if torch.cuda.device_count() > 1:
            x = torch.randn(64, 300, device=torch.device("cuda", 1))
            torch.testing.assert_close(kernels.load(name).softmax(x), torch.softmax(x, dim=-1))
            assert torch.cuda.current_device() == 0


# many warps a block, and so few that one block is resident
@pytest.mark.parametrize("cols", [1100, 50_000])
def test_the_block_is_the_largest_that_costs_no_resident_block(cols, device, monkeypatch):
    monkeypatch.setattr(launch, "_loaded", {})
    assert compiled_stats.cuda_columns() == {}
    variant = kernels.load("cuda_oneflow_smem")
    variant.softmax(torch.randn(8, cols, device=device))
    (loaded,) = launch.cached_launches()
    problem = launch.Problem(torch.float32, 8, cols, 4, False, launch.gpu_info(device))
    plans = variant.module.plan(problem)
    resident = {plan.threads: launch._resident(launch._load(plan, 0), plan) for plan in plans}
    assert loaded.plan.threads == max(t for t, n in resident.items() if n == resident[128])
    columns = compiled_stats.cuda_columns()
    assert columns["blocks_per_sm"] == loaded.blocks_per_sm == resident[128] >= 1
    assert columns["registers"] >= 8
    assert columns["spilled_bytes"] == 0
    assert columns["num_warps"] == loaded.plan.threads // 32


def test_a_cooperative_launch_has_no_more_blocks_than_are_resident(device, monkeypatch):
    """Where the plan asks for more, blocks have more rows; where a row does not fit, it says so."""
    variant = kernels.load("frontier_spread")
    x = torch.randn(300, 2**18, device=device)
    monkeypatch.setattr(launch, "_loaded", {})
    real = launch.gpu_info(device)
    monkeypatch.setattr(launch, "gpu_info", lambda _: real._replace(sm_count=2 * real.sm_count))
    torch.testing.assert_close(variant.softmax(x), torch.softmax(x, -1))
    monkeypatch.setattr(launch, "gpu_info", lambda _: real._replace(sm_count=40 * real.sm_count))
    with pytest.raises(ValueError, match="are resident"):
        variant.softmax(torch.randn(1, 2**24, device=device))
