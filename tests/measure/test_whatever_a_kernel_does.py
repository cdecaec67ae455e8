"""Whatever a kernel does, the job ends with a row that says so; only our own faults leave none."""

import pytest

from kernels import DTYPES
from tests import processes
from tests.bench import kernel

MISSING = "import a_package_that_is_not_there\n\ndef softmax(x, out=None): ...\n"
LATE = kernel("global calls; calls += 1\nif calls > 40: x.zero_(); y.fill_(1 / x.shape[1])")
LATE += "\ncalls = 0\n"  # makes its output right by changing its input
SATURDAYS = kernel("pass") + "\n\ndef unsupported(x):\n    return 'not on Saturdays'\n"


# One for each status, and for each way to it: an exception, an exit, a signal, a message that is no
# text, a module that cannot be loaded. What else is incorrect: test_correctness and test_cheats.
@pytest.mark.parametrize(
    ("source", "status", "message"),
    [
        ("raise ValueError('not today')", "crash", "correctness check: ValueError: not today"),
        ("sys.exit('bye')", "crash", "SystemExit: bye"),
        ("os._exit(0)", "crash", "the process ended (exit code 0) in stage: "),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crash", "the process ended (signal SIGSEGV)"),
        ("os.closerange(0, 1000)", "crash", ""),
        ("raise RuntimeError('bad \\udc80 name')", "crash", "bad \\udc80 name"),
        ("torch.empty(2**60)", "out_of_memory", "can't allocate memory"),
        ("import not_there", "unavailable", "not_there"),
        (MISSING, "unavailable", "a_package_that_is_not_there"),
        ("def broken(:", "compile_error", "SyntaxError"),
        (SATURDAYS, "unsupported", "not on Saturdays"),
        (LATE, "incorrect", "after timing: changed its input"),
        ("print('noise'); sys.stdout.flush()", "ok", ""),
    ],
    ids=lambda words: words.strip().partition("\n")[0],
)
def test_misbehaviour_becomes_a_status(bench, source, status, message):
    bench.add("misfit", source if "softmax" in source else kernel(source))
    row, done = bench.run("misfit")
    assert (row["status"], message in row["message"]) == (status, True), row["message"]
    assert row["gpu"] == "cpu"
    assert row["torch"]
    assert row["kernel_sha256"]
    assert float(row["wall_s"]) > 0
    assert bool(row["time_us"]) == (status == "ok")
    assert status in done.stdout


def test_a_cancelled_job_leaves_no_process_and_no_folder(bench, tmp_path, monkeypatch):
    asleep, scratch = tmp_path / "asleep", tmp_path / "scratch"
    scratch.mkdir()
    act = f"import subprocess; subprocess.Popen(['sleep', '600']); open({str(asleep)!r}, 'w')"
    bench.add("misfit", kernel(act + "; time.sleep(600)"))
    monkeypatch.setenv("TMPDIR", str(scratch))
    job = bench.begin("misfit", served=False)
    processes.until(asleep.exists)
    job.terminate()
    assert job.wait(processes.PATIENCE_S) == 143
    processes.until(lambda: processes.by_variable("TMPDIR", scratch) == [])
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("variant", "options", "status", "message"),
    [
        ("torch_softmax", {"M": 10**9, "N": 10**6}, "out_of_memory", "GiB are free"),
        ("triton_row", {"op": "softmax_backward"}, "unsupported", "triton_row has no softmax_back"),
    ],
)
def test_what_cannot_be_called_is_a_row(bench, variant, options, status, message):
    row = bench.row(variant, **options)
    assert (row["status"], message in row["message"]) == (status, True), row["message"]


# The bytes of an operation of each kind: a matrix in and out, a value per row, two matrices in.
@pytest.mark.parametrize(
    ("op", "dtype", "elements"),
    [
        ("softmax", "float16", 2 * 64 * 96),
        ("logsumexp", "float32", 64 * 96 + 64),
        ("log_softmax_backward", "float16", 3 * 64 * 96),
    ],
)
def test_torchs_own_is_timed_against_torch_and_a_roofline(bench, op, dtype, elements):
    variant = "torch_logits" if op == "logsumexp" else "torch_softmax"
    row, done = bench.run(variant, op=op, dtype=dtype)
    assert (row["status"], row["timing"], row["op"], row["message"]) == ("ok", "host", op, "")
    for column in ("time_us", "copy_us", "torch_us", "speedup_low", "aa_high", "of_copy"):
        assert float(row[column]) > 0
    rate = elements * DTYPES[dtype] / float(row["time_us"]) / 1000
    assert float(row["throughput_gbps"]) == pytest.approx(rate, rel=1e-6)
    assert 0 < float(row["max_abs_error"]) < (1e-5 if dtype == "float32" else 0.01)
    assert "speed-up" in done.stdout


# The forward; each backward and dtype once. The interpreter truncates to bfloat16.
@pytest.mark.parametrize(
    ("variant", "op", "dtype"),
    [
        ("triton_row", "softmax", "float32"),
        ("triton_backward", "softmax_backward", "float32"),
        ("triton_backward", "log_softmax_backward", "bfloat16"),
    ],
)
def test_triton_without_a_gpu_is_interpreted_and_not_timed(bench, variant, op, dtype):
    row, done = bench.run(variant, op=op, dtype=dtype)
    assert row["status"] == "interpreted"
    assert row["message"] == "correctness check passed on 16 of 64 rows; not timed"
    assert float(row["max_abs_error"]) < 0.1
    assert row["time_us"] == row["speedup"] == ""
    assert "interpreted" in done.stdout


@pytest.mark.parametrize(
    ("variant", "gpu", "words"),
    [
        ("torch_softmax", "rtx9999", "error: gpu 'rtx9999' was asked for, but "),
        ("triton_onlin", "cpu", "did you mean triton_online"),
    ],
)
def test_what_cannot_be_measured_is_no_row_and_one_line(bench, variant, gpu, words):
    row, done = bench.run(variant, gpu=gpu)
    assert (row, done.returncode) == (None, 2)
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
