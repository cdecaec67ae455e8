"""Points of the backward, through the real command, on a CPU."""

import csv
import subprocess
import sys

import pytest

OPS = ["softmax_backward", "log_softmax_backward"]


def measure(project, variant, op, *options):
    output = project / "row.csv"
    command = [sys.executable, "-m", "measure", "point", "--gpu", "cpu", "--variant", variant]
    command += ["--op", op, "--M", "64", "--N", "96", "--time-budget", "0.1"]
    command += ["--output", str(output), *options]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    with output.open(newline="") as file:
        (row,) = csv.DictReader(file)
    return row


@pytest.mark.parametrize("op", OPS)
def test_torchs_own_is_timed_and_its_bytes_are_three_matrices(project, op):
    row = measure(project, "torch_softmax", op)
    assert (row["status"], row["op"], row["message"]) == ("ok", op, "")
    rate = 3 * 64 * 96 * 4 / float(row["time_us"]) / 1000
    assert float(row["throughput_gbps"]) == pytest.approx(rate, rel=1e-6)
    assert float(row["copy_us"]) > 0
    assert float(row["torch_us"]) > 0
    assert 0 < float(row["max_abs_error"]) < 1e-5


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("op", OPS)
def test_triton_is_interpreted(project, op, dtype):
    row = measure(project, "triton_backward", op, "--dtype", dtype)
    assert (row["status"], row["time_us"]) == ("interpreted", ""), row["message"]


def test_who_has_only_one_direction_is_unsupported_in_the_other(project):
    row = measure(project, "triton_row", "softmax_backward")
    assert (row["status"], row["message"]) == ("unsupported", "triton_row has no softmax_backward")
    row = measure(project, "triton_backward", "softmax")
    assert (row["status"], row["message"]) == ("unsupported", "triton_backward has no softmax")


def test_a_rival_of_a_backward(project):
    row = measure(project, "torch_softmax", "softmax_backward", "--rival", "torch_softmax")
    assert (row["status"], row["rival"]) == ("ok", "torch_softmax")
    row = measure(project, "torch_softmax", "softmax_backward", "--rival", "torch_naive")
    assert (row["status"], row["rival"]) == ("ok", "")
    assert "torch_naive has no softmax_backward" in row["message"]
