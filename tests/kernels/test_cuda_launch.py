"""CUDA C++ kernels behave as torch's own operators do: streams, threads, graphs."""

import threading

import pytest
import torch

import kernels
from tests.kernels.variants import CUDA

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", CUDA)
def test_work_is_ordered_on_the_current_stream(name, device):
    """On a side stream, behind work that takes a while; a launch elsewhere would read zeros."""
    softmax = kernels.load(name).softmax
    x = torch.zeros(4096, 512, device=device)
    ready = torch.randn(4096, 512, device=device)
    softmax(x)  # compiled by now
    stream = torch.cuda.Stream(device)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.copy_(ready)
        y = softmax(x)
    stream.synchronize()
    torch.testing.assert_close(y, torch.softmax(ready, dim=-1))


@pytest.mark.parametrize("name", CUDA)
def test_a_call_is_captured_in_a_graph(name, device):
    softmax = kernels.load(name).softmax
    x, out = torch.randn(64, 300, device=device), torch.empty(64, 300, device=device)
    softmax(x, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        softmax(x, out)
    x.copy_(torch.randn(64, 300))
    out.fill_(float("nan"))
    graph.replay()
    torch.testing.assert_close(out, torch.softmax(x, dim=-1))


def test_a_thread_that_never_used_the_gpu_may_call(device):
    softmax = kernels.load("cuda_oneflow").softmax
    x, out = torch.randn(64, 300, device=device), torch.empty(64, 300, device=device)
    failed = []

    def call():
        try:
            softmax(x, out)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert not failed
    torch.testing.assert_close(out, torch.softmax(x, dim=-1))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_tensor_says_which_gpu(device):
    """Also when it is not the current one, and then the current one stays so."""
    other = torch.device("cuda", 1)
    for name in CUDA:
        x = torch.randn(64, 300, device=other)
        y = kernels.load(name).softmax(x)
        torch.testing.assert_close(y, torch.softmax(x, dim=-1))
        assert torch.cuda.current_device() == 0


def test_the_block_is_the_largest_that_costs_no_resident_block(device):
    """1024 threads where the row fills the shared memory, fewer where eight rows fit."""
    from kernels import _cuda

    smem = kernels.load("cuda_oneflow_smem")
    chosen = {}
    for cols in (1100, 50_000):
        smem.softmax(torch.randn(8, cols, device=device))
        (ready,) = (r for r in _cuda.in_use() if r.spec.shared_bytes == 4 * cols)
        chosen[cols] = ready
        sizes = [128, 256, 512, 1024]
        resident = {
            size: ready.kernel.occupancy.max_active_blocks_per_multiprocessor(size, 4 * cols)
            for size in sizes
        }
        assert ready.blocks_per_sm == resident[ready.spec.threads] >= 1
    assert chosen[50_000].spec.threads == 1024
    assert chosen[50_000].blocks_per_sm == 1
    assert chosen[1100].spec.threads < 1024


def test_resources_of_what_ran(device):
    from measure import cuda_kernels

    kernels.load("cuda_oneflow_warp").softmax(torch.randn(64, 1024, device=device))
    found = cuda_kernels.resources()
    assert found["registers"] >= 32  # a lane alone holds 32 columns
    assert found["spilled_bytes"] == 0
    assert found["num_warps"] >= 4
    assert found["blocks_per_sm"] >= 1
