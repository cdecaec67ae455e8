"""Where the tests run: on the first GPU, or else in Triton's interpreter on the CPU."""

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # helpers that several tests share


def pytest_configure(config):
    import torch

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
    copy = tmp_path / "project"
    shutil.copytree(ROOT, copy, ignore=_not_copied)
    return copy


def _not_copied(folder: str, names: list[str]) -> set[str]:
    if Path(folder) == ROOT / "results":
        return set(names) - {"published", "recorded"}
    hidden = {name for name in names if name.startswith(".")}
    return hidden | {"__pycache__"} | ({"tests"} if Path(folder) == ROOT else set())
