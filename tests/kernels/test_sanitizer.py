"""NVIDIA's compute-sanitizer finds nothing in the CUDA C++ kernels."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from measure.fingerprint import ROOT

TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SANITIZER = shutil.which("compute-sanitizer")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not SANITIZER, reason="compute-sanitizer (CUDA toolkit) is not here"),
]


def sanitize(tool, *script):
    # without torch's cache every tensor is a separate allocation, and its end is known
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    # cuda-bindings asks the driver for functions newer than it: no error of a kernel
    options = ["--tool", tool, "--report-api-errors", "no", "--error-exitcode", "66"]
    command = [SANITIZER, *options, sys.executable, *script]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_kernels_are_clean_on_odd_shapes(tool):
    done = sanitize(tool, Path(__file__).with_name("sanitize.py"))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-5000:]
    assert re.search(r"(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)", said), said[-5000:]
    right, of = map(int, re.search(r"(\d+) of (\d+) right", said).groups())
    assert right == of > 300


def test_the_sanitizer_would_have_seen_a_step_beyond_the_end():
    """The same tool, given an output that lacks a row."""
    script = (
        "import torch, kernels; x = torch.randn(8, 1000).cuda(); "
        "kernels.load('cuda_oneflow').softmax(x, torch.zeros(7, 1000).cuda()); "
        "torch.cuda.synchronize()"
    )
    done = sanitize("memcheck", "-c", script)
    assert done.returncode != 0
    assert "Invalid __global__ write" in done.stdout + done.stderr
