"""NVIDIA's compute-sanitizer finds nothing in the CUDA C++ kernels, and is read rightly."""

import itertools
import re
import subprocess
import sys

import pytest

import kernels
from kernels.cuda import nvrtc
from kernels.cuda.plan import GPUS
from kernels.tensors import DTYPES
from measure import ROOT
from tests.kernels.helpers import launches, sanitize

# Words of compute-sanitizer.
MEMCHECK = """exit code 66
========= COMPUTE-SANITIZER
launched frontier_rows: right
========= Invalid __global__ read of size 4 bytes
=========     at void frontier_rows<float, OnlineSoftmax, (int)4>(T1 *, const T1 *)+0x150
launched frontier_rows: row 0 is wrong
launched backward: right
========= ERROR SUMMARY: 1 error
"""
RACECHECK = "exit code 66\n========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"


@pytest.mark.gpu
@pytest.mark.skipif(not sanitize.SANITIZER, reason="compute-sanitizer (CUDA toolkit) is not here")
def test_the_kernels_are_clean_and_broken_ones_are_not():
    command = [sys.executable, "-m", "tests.kernels.helpers.sanitize"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, encoding="utf-8")
    assert done.returncode == 0, (done.stdout + done.stderr)[-20_000:]
    assert len(re.findall(r"[1-9]\d* launches of [1-9]\d* kernels, 0 errors", done.stdout)) == 4


def test_every_error_is_counted_and_so_is_the_absence_of_a_summary():
    assert sanitize.count(MEMCHECK) == ({"frontier_rows": 2, "backward": 1}, 2)
    assert sanitize.count(RACECHECK) == ({}, 1)
    assert sanitize.count("exit code 0\n========= ERROR SUMMARY: 0 errors\n") == ({}, 0)
    assert sanitize.count("exit code -11\n") == ({}, 2)  # it crashed, and has no summary


def test_every_kernel_and_config_is_launched_in_every_dtype_and_operation():
    paths = launches.code_paths(GPUS["sm_90"])
    ops = {(variant, op) for variant in launches.variants() for op in kernels.ops(variant)}
    assert {(path.variant, path.op) for path in paths} == ops
    sources = launches.sources()
    dtypes = {(path.plan.source.stem, path.dtype) for path in paths}
    assert dtypes == set(itertools.product(sources, DTYPES))
    layouts = {(path.plan.source.stem, path.layout) for path in paths}
    assert layouts == {*itertools.product(sources, (launches.TOUCHING, launches.APART))}


@pytest.mark.parametrize("tool", sanitize.TOOLS)
def test_the_broken_kernels_compile(tool):
    source = ROOT / "tests/kernels/helpers/broken.cu"
    assert re.search("[a-z]", nvrtc.build(source, (f"broken_{tool}<float>",), "sm_90").name)
