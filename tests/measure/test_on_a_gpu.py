"""What only a GPU can show: graphs, cold and warm, the roofline, telemetry."""

import os
import subprocess
import sys

import pytest

from measure.fingerprint import ROOT
from tests.bench import read_row

pytestmark = pytest.mark.gpu


def measure(tmp_path, *options, folder=ROOT):
    """The row of one point, measured by the project in ``folder``."""
    output = tmp_path / "row.csv"
    command = [sys.executable, "-m", "measure", "point", "--output", str(output), *options]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return read_row(output)


MAY_BE_EMPTY = {"message", "flags", "throttle_reasons", "git_commit", "git_dirty"}


def empty_columns(row):
    return {name for name, value in row.items() if value == ""}


def test_a_row_of_a_triton_variant_is_complete(tmp_path):
    row = measure(tmp_path, "--M", "1024", "--N", "1024", "--variant", "triton_row")
    assert (row["status"], row["timing"]) == ("ok", "graph"), row["message"]
    assert empty_columns(row) <= MAY_BE_EMPTY | {"cuda_core", "nvrtc"}
    assert row["num_warps"] == "4"
    assert int(row["peak_memory_bytes"]) >= 2 * 1024 * 1024 * 4


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_a_row_of_a_cuda_variant_is_complete(tmp_path, op):
    options = ["--M", "1024", "--N", "1024", "--variant", "cuda_oneflow", "--op", op]
    row = measure(tmp_path, *options)
    assert (row["status"], row["timing"], row["op"]) == ("ok", "graph", op), row["message"]
    assert empty_columns(row) <= MAY_BE_EMPTY
    assert (row["num_warps"], row["shared_bytes"], row["spilled_bytes"]) == ("4", "0", "0")
    assert int(row["registers"]) > 32
    assert int(row["blocks_per_sm"]) >= 1


# Each operation, variant and dtype once.
@pytest.mark.parametrize(
    ("op", "variant", "dtype"),
    [
        ("softmax_backward", "torch_softmax", "bfloat16"),
        ("log_softmax_backward", "triton_backward", "float32"),
    ],
)
def test_a_row_of_a_backward_is_complete(tmp_path, op, variant, dtype):
    options = ["--M", "4096", "--N", "8192", "--variant", variant, "--op", op, "--dtype", dtype]
    row = measure(tmp_path, *options)
    assert (row["status"], row["timing"], row["op"]) == ("ok", "graph", op), row["message"]
    moved = 3 * 4096 * 8192 * {"float32": 4, "bfloat16": 2}[dtype]
    rate = moved / float(row["time_us"]) / 1000
    assert float(row["throughput_gbps"]) == pytest.approx(rate, rel=1e-6)
    assert 0.1 < float(row["of_copy"]) <= 1.02
    assert int(row["peak_memory_bytes"]) >= moved
    assert float(row["found_in_l2"]) < 0.05


def test_a_matrix_beyond_the_cache_has_no_warm_time_and_does_not_beat_the_copy(tmp_path):
    row = measure(tmp_path, "--M", "4096", "--N", "12672", "--variant", "triton_row")
    assert row["status"] == "ok", row["message"]
    assert row["warm_us"] == ""
    assert 0.5 < float(row["of_copy"]) <= 1.02


@pytest.mark.parametrize("served", [False, True])
def test_a_broken_context_is_the_kernel_s_own(project, tmp_path, served):
    source = (
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def wild(p):\n"
        "    tl.store(p + 2**50 + tl.arange(0, 128), 0.0)\n"
        "def softmax(x, out=None):\n"
        "    wild[(1,)](x)\n"
        "    return torch.softmax(x, dim=-1, out=out)\n"
    )
    (project / "kernels/contributed" / "wild.py").write_text(source)
    options = ["--M", "64", "--N", "64", "--blocks", "6"]
    options += ["--served-for", str(os.getpid())] if served else []
    row = measure(tmp_path, *options, "--variant", "wild", folder=project)
    assert row["status"] == "crash", row["message"]
    assert "illegal memory access" in row["message"]
    next_one = measure(tmp_path, *options, "--variant", "torch_softmax", folder=project)
    assert next_one["status"] == "ok", next_one["message"]


def test_what_cannot_be_recorded_in_a_graph_is_unsupported(project, tmp_path):
    source = (
        "import torch\n"
        "def softmax(x, out=None):\n"
        "    torch.cuda.synchronize()\n"
        "    return torch.softmax(x, dim=-1, out=out)\n"
    )
    (project / "kernels/contributed" / "waits.py").write_text(source)
    options = ["--M", "1024", "--N", "4096", "--variant", "waits"]
    row = measure(tmp_path, *options, folder=project)
    assert (row["status"], row["time_us"]) == ("unsupported", "")
    assert "cannot be recorded in a CUDA graph" in row["message"]


# Many pairs that share L2, and one that is larger than it.
@pytest.mark.parametrize(("rows", "cols"), [(64, 256), (8192, 8192)])
def test_a_cold_call_finds_nothing_in_the_cache(tmp_path, rows, cols):
    row = measure(tmp_path, "--M", str(rows), "--N", str(cols), "--variant", "torch_softmax")
    assert row["status"] == "ok", row["message"]
    assert float(row["found_in_l2"]) < 0.05
    assert float(row["cold_load_cycles"]) > 1.5 * float(row["resident_load_cycles"])


def test_buffers_that_stay_in_the_cache_are_found_there():
    import torch

    from measure.clock import cold

    class Warm:
        def leave_cold(self, series, turn):
            x.sum() + out.sum()
            torch.cuda.synchronize()

    x, out = (torch.rand(1024, 1024, device="cuda") for _ in range(2))
    said = cold.evidence(Warm(), "variant", [(x, out)], seed=1)
    assert said["found_in_l2"] > 0.8
