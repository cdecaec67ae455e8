"""Where the tests run: on the first GPU, or else in Triton's interpreter on the CPU."""

import os
import signal
from pathlib import Path

import pytest

from tests import copies


def pytest_configure(config):
    import torch

    # A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that
    # they start, and then interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    if not torch.cuda.is_available():
        # before any kernel is imported: Triton decides when it sees @triton.jit
        os.environ["TRITON_INTERPRET"] = "1"


def pytest_collection_modifyitems(items):
    import torch

    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))


@pytest.fixture(scope="session")
def device():
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture
def project(tmp_path) -> Path:
    """A copy of the project without results of runs, free to be edited and run in."""
    return copies.copy_project(tmp_path / "project")
