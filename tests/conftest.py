"""Where the tests run: on the first GPU, or else in Triton's interpreter on the CPU."""

import os
import signal
from pathlib import Path

import pytest

# Before torch is imported, which reads them once. Processes of the tests share the cores, where
# threads that spin while they wait take a hundred times as long: one thread here, and in processes
# that the tests start, threads that sleep.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "passive"

from tests import copies
from tests.bench import Bench

# Processes of pytest-xdist that test on the GPU: one may hold 8 GB of its memory until it ends, and
# a host has a hundred cores.
GPU_PROCESSES = 4
LONGEST = (
    "test_compile_cuda.py",
    "test_compile.py",
    "test_killed.py::test_after_any_number_of_kills",
    "test_commands.py",
    "test_all_that_is_recorded_is_drawn",
)
SWEEPS = {"finished_sweep", "measured_sweep"}  # fixtures that run a whole one


def pytest_configure(config):
    import torch

    # A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that
    # they start, and then interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    if not torch.cuda.is_available():
        # before any kernel is imported: Triton decides when it sees @triton.jit
        os.environ["TRITON_INTERPRET"] = "1"


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    import torch

    # pytest-xdist begins with groups; of single tests the longest come first, or one worker ends
    # long after the other
    items.sort(key=lambda item: not any(name in item.nodeid for name in LONGEST))
    for item in items:
        # one worker runs the sweep that they share, in place of one each
        for sweep in SWEEPS.intersection(item.fixturenames):
            item.add_marker(pytest.mark.xdist_group(sweep))
    here = torch.cuda.is_available()
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    for number, item in enumerate(on_gpu):
        if here:
            item.add_marker(pytest.mark.xdist_group(f"gpu{number % GPU_PROCESSES}"))
        else:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))


@pytest.fixture(scope="session")
def device():
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture
def project(tmp_path) -> Path:
    """A copy of the project without results of runs, free to be edited and run in."""
    return copies.copy_project(tmp_path / "project")


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """Measures points of the CPU; a kernel that a test adds has a unique name."""
    return Bench(tmp_path_factory.mktemp("bench") / "project")
