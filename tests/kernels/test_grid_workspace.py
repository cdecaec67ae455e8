"""Which launches share a grid workspace; a fake stands in for the driver's memory."""

import itertools
import threading

import pytest
import torch

from kernels.cuda import grid_workspace


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
    eager = grid_workspace.address(0, 7)
    assert grid_workspace.address(0, 7) == eager
    assert grid_workspace.address(0, 8) != eager
    recording["now"] = 41
    first = grid_workspace.address(0, 7)
    assert first != eager
    assert grid_workspace.address(0, 7) == first
    recording["now"] = 42
    assert grid_workspace.address(0, 7) not in (first, eager)
    assert asked == [grid_workspace.POOL * grid_workspace.BYTES]
    recording["now"] = 0
    assert grid_workspace.address(1, 7) != eager
    assert len(asked) == 2  # the other GPU's own


def test_workspaces_do_not_overlap_and_more_are_allocated_on_demand(pools):
    asked, _ = pools
    found = sorted(
        grid_workspace.address(0, stream) for stream in range(2 * grid_workspace.POOL + 1)
    )
    assert len(asked) == 3
    gaps = [after - before for before, after in itertools.pairwise(found)]
    assert min(gaps) >= grid_workspace.BYTES


def test_threads_get_different_workspaces(pools):
    found, together = [], threading.Barrier(16)

    def take(stream: int) -> None:
        together.wait()
        found.append(grid_workspace.address(0, stream))

    threads = [threading.Thread(target=take, args=(stream,)) for stream in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 16


def test_an_error_of_the_driver_is_raised():
    with pytest.raises(RuntimeError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        grid_workspace._checked((grid_workspace.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY, None))
    assert grid_workspace._checked((grid_workspace.driver.CUresult.CUDA_SUCCESS, 5)) == (5,)
