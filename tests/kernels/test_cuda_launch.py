"""CUDA C++ kernels behave as torch's own operators do: streams, threads, graphs."""

import threading

import pytest
import torch

import kernels
from tests.kernels.variants import CUDA
from tests.marks import slow

pytestmark = pytest.mark.gpu


def test_threads_that_never_used_the_gpu_may_call(device):
    """One after the other, so that the system gives them the same number."""
    softmax = kernels.load("cuda_oneflow").softmax
    x, out = torch.randn(64, 300, device=device), torch.empty(64, 300, device=device)
    softmax(x, out)
    expected = torch.softmax(x, dim=-1)
    failed = []

    def call():
        try:
            softmax(x, out)  # with out: torch itself does nothing here that would need the GPU
        except BaseException as error:
            failed.append(error)

    for _ in range(3):
        out.zero_()
        torch.cuda.synchronize()
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        torch.cuda.synchronize()
        assert not failed
        torch.testing.assert_close(out, expected)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_tensor_says_which_gpu(device):
    """Also when it is not the current one, and then the current one stays so."""
    other = torch.device("cuda", 1)
    for name in CUDA:
        x = torch.randn(64, 300, device=other)
        y = kernels.load(name).softmax(x)
        torch.testing.assert_close(y, torch.softmax(x, dim=-1))
        assert torch.cuda.current_device() == 0


@pytest.fixture
def launched():
    """What was launched in this test only."""
    from kernels.cuda import launch

    launch._ready.clear()
    return launch.launched


# many warps a block, and so few that one block is resident
@pytest.mark.parametrize("cols", [1100, slow(8192), slow(16_384), 50_000])
def test_the_block_is_the_largest_that_costs_no_resident_block(cols, device, launched):
    from kernels.cuda import launch

    kernels.load("cuda_oneflow_smem").softmax(torch.randn(8, cols, device=device))
    (ready,) = launched()
    call = (torch.float32, 8, cols, 4, False, launch.gpu_info(device))
    offered = kernels.load("cuda_oneflow_smem").module.plan(launch.Call(*call))
    resident = {
        spec.threads: launch._load(spec, 0).occupancy.max_active_blocks_per_multiprocessor(
            spec.threads, 4 * cols
        )
        for spec in offered
    }
    assert ready.spec.threads == max(t for t, n in resident.items() if n == resident[128])
    assert ready.blocks_per_sm == resident[128] >= 1


def test_a_tensor_that_is_not_on_a_gpu_is_refused(device):
    for name in CUDA:
        with pytest.raises(ValueError, match="x is on the device cpu"):
            kernels.load(name).softmax(torch.randn(4, 8))


def test_resources_of_what_ran(device, launched):
    from measure.device import compiled_stats

    assert compiled_stats.of_cuda() == {}
    kernels.load("cuda_oneflow_warp").softmax(torch.randn(64, 1024, device=device))
    found = compiled_stats.of_cuda()
    assert found["registers"] >= 32  # a lane alone holds 32 columns
    assert found["spilled_bytes"] == 0
    assert found["num_warps"] >= 4
    assert found["blocks_per_sm"] >= 1
