"""Which launches share a grid workspace; a fake stands in for the driver's memory."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from cuda.bindings import driver

from kernels.cuda import grid_workspace
from kernels.cuda.driver import checked
from kernels.cuda.grid_workspace import BYTES, POOL, address


@pytest.fixture
def pools(monkeypatch):
    """(sizes of the allocations, the id of the current capture)."""
    asked, recording = [], {"now": 0}
    monkeypatch.setattr(grid_workspace, "_addresses", {})
    monkeypatch.setattr(grid_workspace, "_free", {})
    monkeypatch.setattr(
        grid_workspace, "_zeros", lambda count: asked.append(count) or len(asked) * 2**32
    )
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: recording["now"] > 0)
    monkeypatch.setattr(grid_workspace, "_capture_id", lambda stream: recording["now"])
    return asked, recording


def test_launches_that_never_overlap_share_one_and_others_do_not(pools):
    asked, recording = pools
    eager = address(0, 7)
    assert address(0, 7) == eager
    found = [eager, address(0, 8)]
    for recording["now"] in (41, 42):
        found.append(address(0, 7))
        assert address(0, 7) == found[-1]
    assert len(set(found)) == 4
    assert asked == [POOL * BYTES]
    recording["now"] = 0
    assert address(1, 7) != eager
    assert len(asked) == 2  # the other GPU's


def test_threads_get_workspaces_that_do_not_overlap_and_more_are_allocated_on_demand(pools):
    count = 2 * POOL + 1
    together = threading.Barrier(count)
    with ThreadPoolExecutor(count, initializer=together.wait) as pool:
        found = list(pool.map(lambda stream: address(0, stream), range(count)))
    assert len(pools[0]) == 3
    assert min(after - before for before, after in itertools.pairwise(sorted(found))) >= BYTES


def test_an_error_of_the_driver_is_raised():
    with pytest.raises(RuntimeError, match="CUDA_ERROR_OUT_OF_MEMORY; free GPU memory"):
        checked((driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY, None))
    with pytest.raises(RuntimeError, match=r"CUDA_ERROR_INVALID_VALUE$"):
        checked((driver.CUresult.CUDA_ERROR_INVALID_VALUE, None))
    assert checked((driver.CUresult.CUDA_SUCCESS, 5)) == (5,)
