"""Persisting lines of L2 are reset before every timed series."""

import random

import pytest
import torch
import triton
import triton.language as tl
from cuda.bindings import driver

from measure.clock import cold, graph, l2
from measure.device import gpu_lock, gpus

M, N = 1024, 4096


def test_a_gpu_without_such_lines_is_no_error_and_any_other_is_told(monkeypatch):
    error = driver.CUresult.CUDA_ERROR_NOT_SUPPORTED
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(driver, "cuCtxResetPersistingL2Cache", lambda: (error,))
    monkeypatch.setattr(driver, "cuCtxGetLimit", lambda limit: (error, None))
    l2.reset_persisting_lines()
    assert l2.persisting_bytes() is None
    error = driver.CUresult.CUDA_ERROR_INVALID_CONTEXT
    with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_CONTEXT"):
        l2.reset_persisting_lines()


@triton.jit
def softmax_that_keeps_lines_kernel(out_ptr, x_ptr, COLS: tl.constexpr):
    offsets = tl.program_id(0) * COLS + tl.arange(0, COLS)
    x = tl.load(x_ptr + offsets, eviction_policy="evict_last")
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + offsets, e / tl.sum(e, axis=0))


def keeps_lines(x: torch.Tensor, out: torch.Tensor) -> None:
    softmax_that_keeps_lines_kernel[(M,)](out, x, COLS=N)


def found_after_what_keeps_lines() -> float:
    """Share of a matrix that a timed series finds in L2 after one that keeps lines of it.

    In between the series itself floods L2, which evicts all lines that do not persist.
    """
    cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    flood = torch.empty(3 * cache_bytes, dtype=torch.int8, device="cuda")
    buffers = tuple(torch.rand(M, N, device="cuda") for _ in range(2))
    addresses = cold.sample_lines(buffers[:1], seed=1)
    first, again = (torch.empty_like(addresses, dtype=torch.int32) for _ in range(2))

    def look(x, out):
        flood.zero_()
        for cycles in (first, again):
            cold._load(cycles, addresses)

    clock = graph.GraphClock([buffers], random.Random(1), instances=1)
    clock.add(keeps_lines, "keeps lines")
    clock.add(look, "looks")
    clock.block(["keeps lines", "looks"])
    return cold.summarise(first.cpu(), again.cpu())["found_in_l2"]


@pytest.mark.gpu
def test_a_series_finds_nothing_of_what_another_keeps_and_would_without_the_reset(monkeypatch):
    with gpu_lock.acquire(gpus.visible_gpus()[0]):  # a point that is timed resets these lines, too
        assert found_after_what_keeps_lines() < 0.02
        monkeypatch.setattr(l2, "reset_persisting_lines", lambda: None)
        # Another test, which holds no lock, may evict or reset lines meanwhile.
        assert any(found_after_what_keeps_lines() > 0.1 for _ in range(5))
