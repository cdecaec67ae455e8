"""Every Triton variant compiles for GPUs that are not here, as a launch there would compile it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kernels
from measure.fingerprint import ROOT

TRITON = [name for name in kernels.names("softmax") if "triton" in kernels.packages(name)]


def compile_offline(arch, dtype, rows, cols, names, op="softmax"):
    """One dict per kernel; run without the interpreter, hence in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    script = Path(__file__).with_name("offline.py")
    done = subprocess.run(
        [sys.executable, script, *map(str, (arch, dtype, rows, cols)), op, *names],
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("cols", [781, 4096])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("arch", [80, 90])
def test_every_triton_variant_compiles(arch, dtype, cols):
    found = compile_offline(arch, dtype, 1024, cols, TRITON)
    assert {entry["variant"] for entry in found} == set(TRITON)
    for entry in found:
        assert 8 <= entry["registers"] <= 255, entry
        assert entry["spilled_bytes"] == 0, entry


@pytest.mark.parametrize("op", ["softmax_backward", "log_softmax_backward"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("arch", [80, 90])
def test_the_backward_compiles_for_blocks_and_for_tiles(arch, dtype, op):
    for cols, kernel in ((128, "rows"), (781, "rows"), (16384, "rows"), (100_000, "tiled")):
        (entry,) = compile_offline(arch, dtype, 1024, cols, ["triton_backward"], op)
        assert entry["name"] == f"softmax_bwd_kernel_{kernel}"
        assert 8 <= entry["registers"] <= 255, entry
        assert entry["spilled_bytes"] == 0, entry


def test_a_row_that_does_not_fit_in_registers_spills():
    """What the row's spilled_bytes is for: seen where the article's numbers fall off."""
    (fits,) = compile_offline(80, "float32", 1024, 16384, ["triton_fused"])
    (spills,) = compile_offline(80, "float32", 1024, 131072, ["triton_fused"])
    assert fits["spilled_bytes"] == 0
    assert spills["spilled_bytes"] > 0
