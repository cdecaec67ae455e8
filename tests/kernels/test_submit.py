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
# A C function, because only such a call turns what ctypes prepared into addresses.
DRIVER = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)


def read(config: int, parameters: int, count: int) -> dict:
    """Return the launch that the driver would find at these addresses."""
    *sizes, stream, attributes, attribute_count = struct.unpack(
        "7I4xQQI4x", ctypes.string_at(config, 56)
    )
    addresses = struct.unpack(f"{count}Q", ctypes.string_at(parameters, 8 * count))
    begins = [attributes + 72 * number for number in range(attribute_count)]
    return {
        "sizes": sizes,  # sizes of the grid, a block, shared memory
        "stream": stream,
        "attributes": [struct.unpack("I4x3I", ctypes.string_at(begin, 20)) for begin in begins],
        "arguments": [struct.unpack("q", ctypes.string_at(address, 8))[0] for address in addresses],
    }


@pytest.fixture
def launched(monkeypatch):
    """Every launch in turn; ``errors`` are what the driver answers, then 0."""
    driver_calls = SimpleNamespace(launches=[], errors=[], kernels=set(), count=0)

    def driver(config, kernel, parameters, extra):
        driver_calls.launches.append(read(config, parameters, driver_calls.count))
        driver_calls.kernels.add((kernel, extra))
        return driver_calls.errors.pop(0) if driver_calls.errors else 0

    monkeypatch.setattr(submit, "_driver_launch", lambda: DRIVER(driver))
    monkeypatch.setattr(submit, "_raw_stream", lambda device: STREAM + device)
    yield driver_calls
    assert driver_calls.kernels == {(HANDLE, None)}


def launch_of(blocks: int = 3, **more):
    plan = LaunchPlan(Path("a.cu"), "f", 96, 0, 1024, **more)
    return submit.submitter(HANDLE, plan, blocks, 1)


def test_a_launch_has_the_plan_and_what_the_call_gives(launched, monkeypatch):
    """A bound launch keeps the arguments from the fourth on, whatever others take meanwhile."""
    launch = launch_of(cluster=4, extra_args=(-6,))
    first, second = launch.bind(5, 6), launch.bind(7, -8)
    launched.count = 6
    first(2**47, -1, 4)
    second(1, 2, 3)
    launch(9, 9, 9, 9, 9)
    monkeypatch.setattr(submit, "_raw_stream", lambda device: 0)
    first(3, 2, 1)
    assert [submitted.pop("arguments") for submitted in launched.launches] == [
        [2**47, -1, 4, 5, 6, -6],
        [1, 2, 3, 7, -8, -6],
        [9, 9, 9, 9, 9, -6],
        [3, 2, 1, 5, 6, -6],
    ]
    streams = [submitted.pop("stream") for submitted in launched.launches]
    assert streams == [STREAM + 1] * 3 + [0]
    cluster = (4, 4, 1, 1)  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    planned = {"sizes": [12, 1, 1, 96, 1, 1, 1024], "attributes": [cluster]}
    assert launched.launches == [planned] * 4


@pytest.mark.parametrize("bound", [False, True])
def test_blocks_that_share_a_row_are_launched_together_with_the_streams_workspace(
    bound, launched, monkeypatch
):
    """In each call anew: another stream, or a capture, has another workspace."""
    spaces = iter((1000, 2000))
    monkeypatch.setattr(grid_workspace, "address", lambda device, stream: stream + next(spaces))
    launch, launched.count = launch_of(row_blocks=3, extra_args=(9,)), 6
    for _ in range(2):
        launch.bind(5)(2, 3, 4) if bound else launch(2, 3, 4, 5)
    first, second = launched.launches
    assert first["attributes"] == [(2, 1, 0, 0)]  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    assert first["arguments"] == [2, 3, 4, 5, STREAM + 1001, 9]
    assert second["arguments"] == [2, 3, 4, 5, STREAM + 2001, 9]


# a launch of three arguments
FORMS = {"any": lambda: launch_of(), "bound": lambda: launch_of().bind()}
forms = pytest.mark.parametrize("form", FORMS)


@forms
def test_a_thread_without_a_context_gets_one(form, launched, monkeypatch):
    entered = []
    device = lambda number: SimpleNamespace(set_current=lambda: entered.append(number))  # noqa: E731
    monkeypatch.setattr(submit, "Device", device)
    launched.count, launched.errors = 3, [NO_CONTEXT]
    FORMS[form]()(1, 2, 3)
    assert (entered, len(launched.launches)) == ([1], 2)


@forms
def test_the_drivers_error_has_a_name(form, launched):
    launch = FORMS[form]()
    launched.count, launched.errors = 3, [1]
    with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_VALUE"):
        launch(1, 2, 3)
    launch(4, 5, 6)  # the next call is not harmed
    assert launched.launches[1]["arguments"] == [4, 5, 6]


@forms
def test_calls_at_the_same_time_write_to_memory_of_their_own(form, launched, monkeypatch):
    """Threads meet inside the driver, then each looks at its own launch."""
    meet, seen = threading.Barrier(4), []

    def driver(config, kernel, parameters, extra):
        meet.wait(timeout=60)
        seen.append(read(config, parameters, 3)["arguments"])
        launched.kernels.add((kernel, extra))
        return 0

    monkeypatch.setattr(submit, "_driver_launch", lambda: DRIVER(driver))
    launch = FORMS[form]()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(launch, range(4), range(4), range(4)))
    assert sorted(seen) == [[number] * 3 for number in range(4)]
