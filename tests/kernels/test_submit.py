"""What a launch hands to the CUDA driver, read by a function in the driver's place."""

import ctypes
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernels.cuda import grid_workspace, submit
from kernels.cuda.plan import LaunchPlan

HANDLE, STREAM = 77, 2**40 + 5
NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT in cuda.h


def read(config: int, parameters: int, count: int) -> dict:
    """Return the launch that the driver would find at these addresses."""
    *sizes, stream, attributes, attribute_count = struct.unpack(
        "7I4xQQI4x", ctypes.string_at(config, 56)
    )
    addresses = struct.unpack(f"{count}Q", ctypes.string_at(parameters, 8 * count))
    begins = [attributes + 72 * number for number in range(attribute_count)]
    return {
        "sizes": sizes,  # of the grid, of a block, of shared memory
        "stream": stream,
        "attributes": [struct.unpack("I4x3I", ctypes.string_at(begin, 20)) for begin in begins],
        "arguments": [struct.unpack("q", ctypes.string_at(at, 8))[0] for at in addresses],
    }


@pytest.fixture
def launched(monkeypatch):
    """Every launch in turn; ``errors`` are what the driver answers, then 0."""
    found = SimpleNamespace(launches=[], errors=[], count=0)

    def driver(config, kernel, parameters, extra):
        assert (kernel, extra) == (HANDLE, None)
        found.launches.append(read(config, parameters, found.count))
        return found.errors.pop(0) if found.errors else 0

    submit._memory_of.cache_clear()
    monkeypatch.setattr(submit, "_driver_launch", lambda: driver)
    monkeypatch.setattr(submit, "_raw_stream", lambda device: STREAM + device)
    return found


def made(blocks: int = 3, **more):
    plan = LaunchPlan(Path("a.cu"), "f", 96, 0, 1024, **more)
    return submit.submitter(HANDLE, plan, blocks, 1)


def test_a_launch_has_the_plan_and_what_the_call_gives(launched, monkeypatch):
    launch = made(cluster=4, extra_args=(-6,))
    launched.count = 4
    launch(2**47, -1, 5)
    monkeypatch.setattr(submit, "_raw_stream", lambda device: 0)
    launch(3, 4, 5)
    first, second = launched.launches
    assert first == {
        "sizes": [12, 1, 1, 96, 1, 1, 1024],
        "stream": STREAM + 1,
        "attributes": [(4, 4, 1, 1)],  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        "arguments": [2**47, -1, 5, -6],
    }
    assert second == first | {"stream": 0, "arguments": [3, 4, 5, -6]}


def test_the_shapes_of_a_kernel_share_memory_and_keep_their_grids(launched):
    first, second = made(3), made(5)
    launched.count = 1
    for launch in (first, second, first):
        launch(1)
    assert [each["sizes"][0] for each in launched.launches] == [3, 5, 3]
    assert len(submit._memory_of(HANDLE, 96, 1, False)[0]) == 1


def test_blocks_that_share_a_row_are_launched_together_with_the_streams_workspace(
    launched, monkeypatch
):
    """In each call anew: another stream, or a capture, has another workspace."""
    spaces = iter((1000, 2000))
    monkeypatch.setattr(grid_workspace, "address", lambda device, stream: stream + next(spaces))
    launch, launched.count = made(row_blocks=3, extra_args=(9,)), 3
    for _ in range(2):
        launch(7)
    first, second = launched.launches
    assert first["attributes"] == [(2, 1, 0, 0)]  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    assert first["arguments"] == [7, STREAM + 1001, 9]
    assert second["arguments"] == [7, STREAM + 2001, 9]


def test_a_thread_without_a_context_gets_one(launched, monkeypatch):
    entered = []
    device = lambda number: SimpleNamespace(set_current=lambda: entered.append(number))  # noqa: E731
    monkeypatch.setattr(submit, "Device", device)
    launched.count, launched.errors = 1, [NO_CONTEXT]
    made()(1)
    assert (entered, len(launched.launches)) == ([1], 2)


def test_the_drivers_error_has_a_name(launched):
    launch = made()
    launched.count, launched.errors = 1, [1]
    with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_VALUE"):
        launch(1)
    launch(2)  # the next call is not harmed
    assert launched.launches[1]["arguments"] == [2]


def test_calls_at_the_same_time_write_to_memory_of_their_own(launched, monkeypatch):
    """Threads meet inside the driver, then each looks at its own launch."""
    meet, seen = threading.Barrier(4), []

    def driver(config, kernel, parameters, extra):
        meet.wait(timeout=60)
        seen.append(read(config, parameters, 1)["arguments"])
        return 0

    monkeypatch.setattr(submit, "_driver_launch", lambda: driver)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(made(), range(4)))
    assert sorted(seen) == [[0], [1], [2], [3]]
