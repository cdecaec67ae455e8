"""CUDA C++ where there is no GPU: compiled, not run, and the row says so."""

import csv
import subprocess
import sys


def measure(project, variant, cols, *options):
    output = project / "row.csv"
    command = [sys.executable, "-m", "measure", "point", "--gpu", "cpu", "--variant", variant]
    command += ["--M", "64", "--N", str(cols), "--output", str(output), *options]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    with output.open(newline="") as file:
        (row,) = csv.DictReader(file)
    return row


def test_it_is_compiled_for_two_gpus_and_unsupported(project):
    row = measure(project, "cuda_oneflow", 2048)
    assert row["status"] == "unsupported"
    assert "an NVIDIA GPU and its driver are needed" in row["message"]
    assert "compiled for sm_80 and sm_90 without error" in row["message"]
    assert row["time_us"] == ""
    assert float(row["compile_s"]) > 0
    assert row["nvrtc"].startswith("13.")
    assert row["cuda_core"]


def test_beyond_its_limits_nothing_is_compiled(project):
    row = measure(project, "cuda_oneflow_warp", 2048)
    assert row["status"] == "unsupported"
    assert row["message"].startswith("N = 2048")
    assert "compiled" not in row["message"]


def test_a_source_that_does_not_compile_is_a_compile_error(project):
    source = project / "kernels" / "cuda" / "oneflow_smem.cu"
    source.write_text(source.read_text().replace("row_max", "row_min", 1))
    row = measure(project, "cuda_oneflow_smem", 2048)
    assert row["status"] == "compile_error"
    assert "NVRTC_ERROR_COMPILATION" in row["message"]


def test_it_says_which_gpu_cannot_hold_the_row(project):
    row = measure(project, "cuda_oneflow_smem", 50_000)
    assert "compiled for sm_90 without error, beyond the limits of sm_80" in row["message"]


def test_a_variant_of_its_own_kind_is_not_compiled(project):
    (project / "kernels" / "mine.py").write_text(
        "from cuda.core import launch\n\ndef softmax(x, out=None):\n    raise SystemExit\n"
    )
    row = measure(project, "mine", 64)
    assert (row["status"], row["message"]) == ("unsupported", "it is not timed without a GPU")


def test_without_cuda_core_it_is_unavailable(project):
    (project / "cuda").mkdir()
    (project / "cuda" / "__init__.py").write_text("raise ModuleNotFoundError('no cuda.core')")
    row = measure(project, "cuda_oneflow", 2048)
    assert row["status"] == "unavailable"
    assert "install the package that it needs" in row["message"]
    assert row["nvrtc"] == ""


def test_another_variant_needs_no_cuda_core(project):
    (project / "cuda").mkdir()
    (project / "cuda" / "__init__.py").write_text("raise ModuleNotFoundError('no cuda.core')")
    row = measure(project, "torch_softmax", 64, "--time-budget", "0.1")
    assert row["status"] == "ok"
    assert row["nvrtc"] == ""


def test_an_operation_that_a_variant_lacks_is_unsupported(project):
    row = measure(project, "cuda_fastertransformer", 64, "--op", "log_softmax")
    assert (row["status"], row["op"]) == ("unsupported", "log_softmax")
    assert row["message"] == "cuda_fastertransformer has no log_softmax"


def test_log_softmax_is_timed_against_torchs_own(project):
    row = measure(project, "torch_softmax", 96, "--op", "log_softmax", "--time-budget", "0.1")
    assert (row["status"], row["op"]) == ("ok", "log_softmax")
    assert 0 < float(row["max_abs_error"]) < 1e-5
    assert float(row["torch_us"]) > 0
