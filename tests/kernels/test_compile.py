"""Every Triton kernel compiles for GPUs that are not here, as a launch there would compile it."""

import json
import os
import subprocess
import sys

import pytest

import kernels
from measure import ROOT
from tests.marks import slow

TRITON = [name for name in kernels.names("softmax") if "triton" in kernels.packages(name)]
BACKWARD = {128: "rows", 781: "rows", 16384: "rows", 100_000: "tiled"}  # length -> kernel
DROPIN = {"softmax_bwd_kernel_rows", "softmax_bwd_kernel_tiled"}
DROPIN |= {"softmax_fwd_kernel_inner", "softmax_bwd_kernel_inner"}


def compile_offline(*jobs: tuple) -> list[dict]:
    """Return one dict per kernel, from a process without the interpreter."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment |= {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.kernels.helpers.offline"]
    pipes = {"input": json.dumps(jobs), "stdout": subprocess.PIPE, "text": True}
    done = subprocess.run(command, check=True, cwd=ROOT, env=environment, **pipes)
    return [json.loads(line) for line in done.stdout.splitlines()]


# One of each kind: the compiler's choices depend on the GPU and the type, the code does not.
@pytest.mark.parametrize("dtype", ["float32", slow("float16"), slow("bfloat16")])
@pytest.mark.parametrize("arch", [90, slow(80)])
def test_every_triton_kernel_compiles_and_none_spills(arch, dtype):
    # rows that are and are not a multiple of 16, for which Triton compiles apart
    jobs = [(arch, dtype, "softmax", cols, TRITON) for cols in (781, 4096)]
    for op in ("softmax_backward", "log_softmax_backward"):
        jobs += [(arch, dtype, op, cols, ["triton_backward"]) for cols in BACKWARD]
    found = compile_offline(*jobs, (arch, dtype, "", 0, ["drop-in"]))
    for entry in found:
        assert 8 <= entry["registers"] <= 255, entry
        assert entry["spilled_bytes"] == 0, entry
    assert {entry["variant"] for entry in found} == {*TRITON, "triton_backward", "drop-in"}
    assert {entry["name"] for entry in found} >= DROPIN  # a process compiles nothing twice
    backward = [(e["cols"], e["name"]) for e in found if e["variant"] == "triton_backward"]
    expected = [(cols, f"softmax_bwd_kernel_{kernel}") for cols, kernel in BACKWARD.items()]
    assert backward == expected * 2


def test_a_row_that_does_not_fit_in_registers_spills():
    """What the row's spilled_bytes is for: seen where the article's numbers fall off."""
    jobs = [(80, "float32", "softmax", cols, ["triton_fused"]) for cols in (16384, 131072)]
    fits, spills = compile_offline(*jobs)
    assert fits["spilled_bytes"] == 0
    assert spills["spilled_bytes"] > 0
