"""Whatever a kernel does, the job ends with a row that says so; only our own faults leave none."""

import csv
import os
import subprocess
import sys
import time

import numpy
import pytest
import triton
from packaging.version import Version

BODY = """
import os, signal, sys, time
import torch

def softmax(x, out=None):
    y = torch.softmax(x, dim=-1) if out is None else torch.softmax(x, dim=-1, out=out)
    {act}
    return y
"""


@pytest.fixture
def measure(project):
    """measure(act, **options): run a kernel with this line in it; (row or None, the process)."""

    def run(act=None, variant="misfit", timeout=60, gpu="cpu", source=None, rival=None, M=64, N=96):
        if act is not None or source is not None:
            text = source or BODY.format(act=act)
            (project / "kernels" / f"{variant}.py").write_text(text)
        output = project / "row.csv"
        command = [sys.executable, "-m", "measure", "point", "--gpu", gpu, "--variant", variant]
        command += ["--M", str(M), "--N", str(N), "--output", str(output)]
        command += ["--time-budget", "0.1", "--timeout", str(timeout)]
        command += ["--rival", rival] if rival else []
        done = subprocess.run(command, cwd=project, capture_output=True, text=True)
        if not output.exists():
            return None, done
        assert done.returncode == 0, done.stderr
        with output.open(newline="") as file:
            (line,) = csv.DictReader(file)
        return line, done

    return run


@pytest.mark.parametrize(
    ("act", "status", "message"),
    [
        ("raise ValueError('not today')", "crash", "ValueError: not today"),
        ("sys.exit('bye')", "crash", "SystemExit: bye"),
        ("os._exit(0)", "crash", "the process ended (exit code 0) in stage: "),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crash", "the process ended (signal SIGSEGV)"),
        ("torch.empty(2**60)", "out_of_memory", "can't allocate memory"),
        ("raise MemoryError", "out_of_memory", "MemoryError"),
        ("raise RuntimeError('bad \\udc80 name')", "crash", "bad \\udc80 name"),
        ("import not_there", "unavailable", "not_there"),
        ("def broken(:", "compile_error", "SyntaxError"),
        ("return None", "incorrect", "returned NoneType, not a tensor"),
        ("return y[:, :-1]", "incorrect", "returned shape (64, 95), expected (64, 96)"),
        ("return y.double()", "incorrect", "returned dtype torch.float64"),
        ("y.fill_(float('nan'))", "incorrect", "nan at column 0"),
        ("y.zero_()", "incorrect", "0 at column"),
        ("print('noise'); sys.stdout.flush()", "ok", ""),
    ],
)
def test_misbehaviour_becomes_a_status(measure, act, status, message):
    row, done = measure(act)
    assert (row["status"], message in row["message"]) == (status, True), row["message"]
    assert row["gpu"] == "cpu"
    assert row["torch"]
    assert row["kernel_sha256"]
    assert float(row["wall_s"]) > 0
    assert bool(row["time_us"]) == (status == "ok")
    assert status in done.stdout


def test_a_kernel_that_never_returns_is_killed_with_all_it_started(measure, project):
    act = "import subprocess; subprocess.Popen(['sleep', '4711']); time.sleep(1000)"
    row, _ = measure(act, timeout=6)
    assert row["status"] == "timeout"
    assert row["message"].startswith("killed after 6 s, in stage: ")
    left = subprocess.run(["pgrep", "-f", "sleep 4711"], capture_output=True, text=True).stdout
    assert left == ""


def test_right_while_checked_but_wrong_while_timed_is_incorrect(measure):
    source = (
        BODY.format(act="global calls; calls += 1\n    if calls > 40: y[0, 0] += 0.5")
        + "\ncalls = 0\n"
    )
    row, _ = measure(source=source)
    assert row["status"] == "incorrect"
    assert row["message"].startswith("after timing: ")
    assert row["time_us"] == ""


def test_a_kernel_that_makes_its_output_right_by_changing_its_input_is_incorrect(measure):
    act = "global calls; calls += 1\n    if calls > 40: x.zero_(); y.fill_(1 / x.shape[1])"
    row, _ = measure(source=BODY.format(act=act) + "\ncalls = 0\n")
    assert row["status"] == "incorrect"


@pytest.mark.parametrize("rival", ["triton_row", "misfit"])
def test_a_rival_that_cannot_be_timed_costs_only_its_own_columns(measure, project, rival):
    (project / "kernels" / "misfit.py").write_text(BODY.format(act="y.zero_()"))
    row, _ = measure(variant="torch_softmax", rival=rival)
    assert (row["status"], row["rival_us"]) == ("ok", "")
    assert row["message"].startswith(f"rival {rival}: ")


def test_a_rival_that_is_wrong_for_special_values_alone_is_timed(measure, project):
    act = "y[x.isneginf().any(1)] = float('nan')"
    (project / "kernels" / "misfit.py").write_text(BODY.format(act=act))
    row, _ = measure(variant="torch_softmax", rival="misfit")
    assert (row["status"], row["rival"]) == ("ok", "misfit")
    assert float(row["rival_us"]) > 0
    assert row["message"].startswith("rival misfit is timed, though wrong for rows with -inf: nan")


def test_a_rival_is_one_more_control(measure):
    row, _ = measure(variant="torch_softmax", rival="torch_naive")
    assert row["rival"] == "torch_naive"
    assert float(row["rival_low"]) <= float(row["rival_speedup"]) <= float(row["rival_high"])


def test_a_tiny_matrix_does_not_take_for_ever(measure):
    row, _ = measure(variant="torch_softmax", M=1, N=1)
    assert row["status"] == "ok"
    assert "not_cold" in row["flags"]


def test_a_cancelled_job_leaves_no_process_and_no_folder(measure, project, tmp_path):
    act = "import subprocess; subprocess.Popen(['sleep', '4712']); time.sleep(1000)"
    (project / "kernels" / "misfit.py").write_text(BODY.format(act=act))
    command = [sys.executable, "-m", "measure", "point", "--gpu", "cpu", "--variant", "misfit"]
    command += ["--M", "4", "--N", "4", "--output", str(tmp_path / "row.csv")]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    job = subprocess.Popen(command, cwd=project, env=os.environ | {"TMPDIR": str(scratch)})
    for _ in range(300):
        if subprocess.run(["pgrep", "-f", "sleep 4712"], capture_output=True).returncode == 0:
            break
        time.sleep(0.1)
    job.terminate()
    assert job.wait(20) == 143
    assert subprocess.run(["pgrep", "-f", "sleep 4712"], capture_output=True).returncode == 1
    assert list(scratch.iterdir()) == []


def test_a_missing_package_is_unavailable(measure):
    row, _ = measure(source="import a_package_that_is_not_there\n\ndef softmax(x, out=None): ...\n")
    assert row["status"] == "unavailable"
    assert "a_package_that_is_not_there" in row["message"]


def test_an_unsupported_shape_says_why(measure):
    source = BODY.format(act="pass") + "\n\ndef unsupported(x):\n    return 'not on Saturdays'\n"
    row, _ = measure(source=source)
    assert (row["status"], row["message"]) == ("unsupported", "not on Saturdays")


def test_a_matrix_beyond_memory_is_a_row(measure, project):
    output = project / "big.csv"
    command = [sys.executable, "-m", "measure", "point", "--gpu", "cpu", "--M", str(10**9)]
    command += ["--N", str(10**6), "--variant", "torch_softmax", "--output", str(output)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    with output.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["status"] == "out_of_memory"
    assert "GiB are free" in row["message"]


@pytest.mark.skipif(
    Version(triton.__version__) < Version("3.7") and Version(numpy.__version__) >= Version("2.4"),
    reason="Triton's interpreter before 3.7 fails with numpy 2.4 on loops over device values",
)
def test_triton_without_a_gpu_is_interpreted_and_not_timed(measure):
    row, done = measure(variant="triton_online")
    assert row["status"] == "interpreted"
    assert row["message"] == "gate passed on 16 of 64 rows; not timed"
    assert float(row["max_abs_error"]) < 1e-6
    assert row["time_us"] == row["speedup"] == ""
    assert "interpreted" in done.stdout


def test_torch_on_a_cpu_is_timed_against_a_copy(measure):
    row, done = measure(variant="torch_naive")
    assert (row["status"], row["timing"]) == ("ok", "host")
    for column in ("time_us", "copy_us", "torch_us", "speedup_low", "aa_high", "of_copy"):
        assert float(row[column]) > 0
    assert row["stopped_by"] in ("interval", "budget")
    for words in ("time ", "throughput", "speed-up", "noise floor"):
        assert words in done.stdout


def test_the_wrong_machine_writes_no_row(measure):
    row, done = measure(variant="torch_softmax", gpu="rtx9999")
    assert row is None
    assert done.returncode == 2
    unlocked, *stages, fault = done.stderr.splitlines()
    assert unlocked.startswith("no GPU is held for this point: ")
    assert fault.startswith("error: gpu 'rtx9999' was asked for, but ")
    assert [line.split(" s  ")[1] for line in stages] == ["importing torch", "opening the device"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"variant": "triton_onlin"}, "did you mean triton_online"),
        ({"timeout": 0}, "timeout_s = 0.0: it must be above 0"),
    ],
)
def test_a_bad_command_is_refused_in_one_line(measure, options, words):
    row, done = measure(**{"variant": "torch_softmax"} | options)
    assert row is None
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_output_that_cannot_be_written_is_an_error(project):
    command = [sys.executable, "-m", "measure", "point", "--gpu", "cpu", "--M", "2", "--N", "2"]
    command += ["--variant", "torch_softmax", "--time-budget", "0.01"]
    (project / "file").write_text("")
    done = subprocess.run(
        [*command, "--output", "file/row.csv"], cwd=project, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "error: cannot write file/row.csv" in done.stderr
