"""Which launches share a grid workspace; a fake stands in for the driver's memory."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from cuda.bindings import driver

import kernels
from kernels.cuda import grid_workspace
from kernels.cuda.driver import checked
from kernels.cuda.grid_workspace import BYTES, POOL, address


@pytest.fixture
def pools(monkeypatch):
    """(sizes of the allocations, {"now": id of the current capture, "ends": of graphs})."""
    allocated, recording = [], {"now": 0, "ends": []}

    def zeros(count):
        allocated.append(count)
        return len(allocated) * 2**32

    def end_of(graph):
        recording["ends"].append(grid_workspace.GraphEnd())
        return recording["ends"][-1]

    replacements = {"_addresses": {}, "_free": {}, "_graphs": [], "_zeros": zeros}
    replacements |= {"_end_of": end_of, "_stream_id": lambda stream: 1000 + stream}
    replacements["_capture"] = lambda stream: (recording["now"], "graph")
    for name, replacement in replacements.items():
        monkeypatch.setattr(grid_workspace, name, replacement)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: recording["now"] > 0)
    return allocated, recording


def test_launches_that_never_overlap_share_one_and_others_do_not(pools):
    allocated, recording = pools
    eager = address(0, 7)
    assert address(0, 7) == eager
    addresses = [eager, address(0, 8)]
    for recording["now"] in (41, 42):
        addresses.append(address(0, 7))
        assert address(0, 7) == addresses[-1]
    assert len(set(addresses)) == 4
    assert allocated == [POOL * BYTES]
    recording["now"] = 0
    assert address(1, 7) != eager
    assert len(allocated) == 2  # the other GPU's


def test_threads_get_workspaces_that_do_not_overlap_and_more_are_allocated_on_demand(pools):
    count = 2 * POOL + 1
    together = threading.Barrier(count)
    with ThreadPoolExecutor(count, initializer=together.wait) as pool:
        addresses = list(pool.map(lambda stream: address(0, stream), range(count)))
    assert len(pools[0]) == 3
    assert min(after - before for before, after in itertools.pairwise(sorted(addresses))) >= BYTES


def test_a_graph_that_is_gone_leaves_its_workspace_to_the_next(pools):
    """sem_post of the C library says that it is gone, as CUDA calls it, in another thread."""
    allocated, recording = pools
    addresses = set()
    for recording["now"] in range(1, 201):
        addresses.add(address(0, 7))
        if recording["now"] > 1:  # the first graph lives on
            post = grid_workspace._libc.sem_post
            thread = threading.Thread(target=post, args=(recording["ends"][-1].semaphore,))
            thread.start()
            thread.join()
    assert len(addresses) == 2
    assert allocated == [POOL * BYTES]


def test_a_handle_that_two_streams_share_has_two_workspaces(pools, monkeypatch):
    """As the per-thread default stream's, or one that was destroyed and is used again."""
    ids = iter((5, 6, 5))
    monkeypatch.setattr(grid_workspace, "_stream_id", lambda stream: next(ids))
    first, second, again = (address(0, 2) for _ in range(3))
    assert first == again != second


@pytest.mark.gpu
def test_captures_that_are_dropped_keep_no_memory(device):
    """As many as one allocation of workspaces holds twice over, one after another."""
    x = torch.randn(2, 2**20, device=device)
    spread = kernels.load("frontier_spread").softmax
    spread(x)

    def capture() -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            spread(x)
        graph.replay()
        torch.cuda.synchronize()
        return graph

    capture()
    before = sum(map(len, grid_workspace._free.values())) + len(grid_workspace._addresses)
    for _ in range(3 * POOL):
        capture()
    after = sum(map(len, grid_workspace._free.values())) + len(grid_workspace._addresses)
    assert after == before


@pytest.mark.gpu
def test_threads_on_their_own_default_streams_do_not_disturb_each_other(device):
    x = torch.randn(8, 2**20, device=device)
    expected = torch.softmax(x, -1)
    together = threading.Barrier(2)

    def work() -> list[torch.Tensor]:
        with torch.cuda.stream(torch.cuda.ExternalStream(2, device)):
            together.wait()
            addresses = [kernels.softmax(x, -1) for _ in range(50)]
            torch.cuda.current_stream().synchronize()
        return addresses

    with ThreadPoolExecutor(2) as pool:
        for results in [pool.submit(work) for _ in range(2)]:
            for y in results.result(timeout=60):
                torch.testing.assert_close(y, expected)
    device_index = torch.cuda.current_device()
    assert len([key for key in grid_workspace._addresses if key[0] == device_index]) >= 2


def test_an_error_of_the_driver_is_raised():
    with pytest.raises(RuntimeError, match="CUDA_ERROR_OUT_OF_MEMORY; free GPU memory"):
        checked((driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY, None))
    with pytest.raises(RuntimeError, match=r"CUDA_ERROR_INVALID_VALUE$"):
        checked((driver.CUresult.CUDA_ERROR_INVALID_VALUE, None))
    assert checked((driver.CUresult.CUDA_SUCCESS, 5)) == (5,)
