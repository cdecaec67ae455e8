"""Every Triton kernel compiles for GPUs that are not here, as a launch there would compile it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kernels
from measure.fingerprint import ROOT
from tests.marks import slow

TRITON = [name for name in kernels.names("softmax") if "triton" in kernels.packages(name)]
BACKWARD = {128: "rows", 781: "rows", 16384: "rows", 100_000: "tiled"}  # length -> kernel
DROPIN = {
    "softmax_bwd_kernel_rows",
    "softmax_bwd_kernel_tiled",
    "softmax_fwd_kernel_inner",
    "softmax_bwd_kernel_inner",
}


def compile_offline(*jobs: tuple) -> list[dict]:
    """One dict per kernel; run without the interpreter, hence in another process."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "helpers" / "offline.py"],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


# One of each kind: the compiler's choices depend on the GPU and the type, the code does not.
@pytest.mark.parametrize(
    ("arch", "dtype"),
    [
        (90, "float32"),
        *(slow(90, dtype) for dtype in ("float16", "bfloat16")),
        *(slow(80, dtype) for dtype in ("float32", "float16", "bfloat16")),
    ],
)
def test_every_triton_kernel_compiles_and_none_spills(arch, dtype):
    found = compile_offline(
        # rows that are and are not a multiple of 16, for which Triton compiles apart
        *((arch, dtype, "softmax", cols, TRITON) for cols in (781, 4096)),
        *(
            (arch, dtype, f"{op}_backward", cols, ["triton_backward"])
            for op in ("softmax", "log_softmax")
            for cols in BACKWARD
        ),
        (arch, dtype, "", 0, ["drop-in"]),
    )
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
