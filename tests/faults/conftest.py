"""What the faults befall: a fresh copy of the project, or one in which a sweep is finished."""

import shutil
import subprocess

import pytest

from tests import copies, processes
from tests.faults.sweeps import Sweep
from tests.workflow.runner import UNTIL_MERGED, configure

TWO = ["torch_naive", "torch_softmax"]  # variants, each at two sizes


@pytest.fixture
def sweep(project):
    """A sweep of four points that has not begun."""
    configure(project, variants=TWO)
    begun = Sweep(project)
    yield begun
    processes.kill(begun.processes())


@pytest.fixture(scope="session")
def measured_sweep(tmp_path_factory):
    """A folder in which the sweep of four points is merged."""
    folder = copies.copy_project(tmp_path_factory.mktemp("measured") / "project")
    configure(folder, variants=TWO)
    code, printed = Sweep(folder).run(*UNTIL_MERGED)
    assert code == 0, printed
    return folder


@pytest.fixture
def finished(measured_sweep, tmp_path):
    """A copy of it, to be damaged."""
    begun = Sweep(shutil.copytree(measured_sweep, tmp_path / "project"))
    yield begun
    processes.kill(begun.processes())


@pytest.fixture
def mounting():
    """Words before a script that may mount what nobody else sees."""
    words = ("unshare", "--map-root-user", "--mount", "bash", "-euo", "pipefail", "-c")
    tried = subprocess.run(
        [*words, "mount -t tmpfs none /mnt"], capture_output=True, text=True, encoding="utf-8"
    )
    if tried.returncode:
        pytest.skip(f"this user may not mount anything: {tried.stderr.strip()}")
    return words
