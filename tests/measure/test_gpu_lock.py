"""One timing per GPU at a time: locks that free themselves."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from measure import ROOT
from measure.device import gpu_lock, gpus
from measure.errors import NoRow
from measure.point import Point
from tests.bench import command
from tests.measure import nvml

GPUS = [gpus.VisibleGpu("GPU-aaaa", "h200"), gpus.VisibleGpu("GPU-bbbb", "h200")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_lock, "LOCK_FOLDER", tmp_path)
    return tmp_path


def holder(folder, gpu):
    """A process that holds a GPU; its last line says which."""
    code = (
        "import pathlib, sys, time\n"
        "from measure.device import gpus, gpu_lock\n"
        f"gpu_lock.LOCK_FOLDER = pathlib.Path({str(folder)!r})\n"
        f"gpu = gpus.VisibleGpu(*{tuple(gpu)!r})\n"
        "with gpu_lock.acquire(gpu, lambda text: print(text, flush=True)) as lock:\n"
        "    print(lock.gpu.uuid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def free() -> list[str]:
    """The UUIDs of the GPUs that are not locked."""
    held = {
        gpu.uuid: gpu_lock._try(gpu_lock.LOCK_FOLDER / f"softmax-bench-{gpu.uuid}.lock")
        for gpu in GPUS
    }
    for fd in filter(None, held.values()):
        os.close(fd)
    return [uuid for uuid, fd in held.items() if fd]


def point(**options) -> Point:
    given = {"gpu": "h200", "dtype": "float32", "M": 8, "N": 8, "variant": "torch_softmax"}
    return Point(**given | options)


def test_all_points_of_a_matrix_get_one_board_whatever_the_order_of_boards():
    others = [gpus.VisibleGpu("GPU-0000", "a100"), *reversed(GPUS)]
    by_size = {}
    for size in range(1, 33):
        same = [point(N=size), point(N=size, variant="torch_naive", replicate=2)]
        chosen = {gpu_lock.assigned_gpu(p, found) for p in same for found in (GPUS, others)}
        (by_size[size],) = chosen
    assert {gpu.uuid for gpu in by_size.values()} == {"GPU-aaaa", "GPU-bbbb"}
    assert gpu_lock.assigned_gpu(point(gpu="b200"), others) is None


def test_a_point_waits_for_a_busy_gpu_and_goes_on_when_its_holder_is_killed(folder):
    first, second = holder(folder, GPUS[0]), None
    try:
        assert first.stdout.readline() == "GPU-aaaa\n"
        second = holder(folder, GPUS[0])
        assert second.stdout.readline() == "waiting: another point is being timed on GPU-aaaa\n"
        first.send_signal(signal.SIGKILL)
        assert second.stdout.readline() == "GPU-aaaa\n"
    finally:
        for process in filter(None, (first, second)):
            process.kill()
            process.communicate()


def test_the_lock_is_held_as_long_as_a_process_of_the_point_lives(folder):
    with gpu_lock.acquire(GPUS[0]) as lock:
        assert lock.gpu == GPUS[0]
        worker = subprocess.Popen(["sleep", "600"], pass_fds=[lock.fd])
        other = subprocess.Popen(["sleep", "600"])  # inherits nothing
    try:
        assert free() == ["GPU-bbbb"]
        worker.kill()
        worker.wait()
        assert free() == ["GPU-aaaa", "GPU-bbbb"]
    finally:
        for process in (worker, other):
            process.kill()
            process.wait()


def test_a_lock_file_that_was_cleaned_away_locks_nobody_out_for_ever(folder):
    path = folder / "softmax-bench-GPU-aaaa.lock"
    first = gpu_lock._try(path)
    path.unlink()
    with gpu_lock.acquire(GPUS[0]):
        os.close(first)
        assert free() == ["GPU-bbbb"]


def test_a_link_in_place_of_a_lock_file_is_refused(folder, tmp_path):
    (tmp_path / "target").write_text("keep me")
    (folder / "softmax-bench-GPU-aaaa.lock").symlink_to(tmp_path / "target")
    with pytest.raises(NoRow, match="remove the file"):
        free()
    assert (tmp_path / "target").read_text() == "keep me"


def test_a_file_that_cannot_be_locked_is_no_row_and_is_closed(monkeypatch):
    def fails(fd, _):
        opened.append(fd)
        raise OSError(errno.ENOLCK, "No locks available")

    opened = []
    monkeypatch.setattr(gpu_lock.fcntl, "flock", fails)
    with pytest.raises(NoRow, match="No locks available"):
        free()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_another_user_s_lock_holds(folder, monkeypatch):
    for path in (folder, *list(folder.parents)[:-2]):
        path.chmod(0o777)
    folder.chmod(0o1777)
    code = (
        "import fcntl, os, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
    )
    path = str(folder / "softmax-bench-GPU-aaaa.lock")
    command = ["setpriv", "--reuid=65534", "--clear-groups", "python3", "-c", code, path]
    with gpu_lock.acquire(GPUS[0]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert "BlockingIOError" in done.stderr
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_a_worker_sees_the_gpu_that_is_held_for_it(tmp_path, project):
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "pynvml.py").write_text(nvml.FAKE.replace("NVIDIA A100-SXM4-40GB", "NVIDIA H200", 1))
    with (project / "measure/process/reaper.py").open("a") as file:
        file.write("def measure(*_):\n    print('sees', os.environ['CUDA_VISIBLE_DEVICES'])\n")
    source = project / "measure/device/gpu_lock.py"
    source.write_text(source.read_text().replace('Path("/tmp")', f"Path({str(fake)!r})"))
    environment = os.environ | {"PYTHONPATH": str(fake)}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    words = command(gpu="h200", M=8, N=8, variant="torch_softmax", output="row.csv")
    run = {"cwd": project, "env": environment, "capture_output": True, "text": True}
    assert "sees GPU-aaaa" in subprocess.run(words, **run).stderr
