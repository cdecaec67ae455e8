"""The drop-in's own Triton kernels compile for GPUs that are not here, and none spills."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from measure.fingerprint import ROOT

NAMES = {
    "softmax_bwd_kernel_rows",
    "softmax_bwd_kernel_tiled",
    "softmax_fwd_kernel_inner",
    "softmax_bwd_kernel_inner",
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("arch", [80, 90])
def test_every_form_compiles_and_none_spills(arch, dtype):
    # without the interpreter, hence in a process of its own
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("offline_dropin.py"), str(arch), dtype],
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {entry["name"] for entry in found} == NAMES
    for entry in found:
        assert entry["spilled_bytes"] == 0, entry
