"""However many processes run the tests, few of them test on the GPU: they share its memory."""

import os
import subprocess
import sys

import pytest

from measure.fingerprint import ROOT
from tests.conftest import GPU_PROCESSES

TESTS = """
import os

import pytest


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(20))
def test_on_gpu(number, tmp_path_factory):
    here = tmp_path_factory.getbasetemp().parent
    (here / os.environ["PYTEST_XDIST_WORKER"]).touch()
"""
A_GPU = """
from types import SimpleNamespace

cuda = SimpleNamespace(is_available=lambda: True)
"""


@pytest.mark.slow  # of these tests, not of the project
def test_few_processes_test_on_the_gpu(tmp_path):
    (tmp_path / "torch.py").write_text(A_GPU)
    (tmp_path / "conftest.py").write_text(
        "from tests.conftest import pytest_collection_modifyitems\n"
    )
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu: on a GPU\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(GPU_PROCESSES + 2)]
    command += ["--dist", "loadgroup", "--basetemp", "ran", "-p", "no:cacheprovider"]
    environ = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 passed" in done.stdout
    assert 0 < len(list((tmp_path / "ran").glob("gw*"))) <= GPU_PROCESSES
