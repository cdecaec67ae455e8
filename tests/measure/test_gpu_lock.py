"""One timing per GPU at a time: locks that free themselves."""

import errno
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from measure.device import gpu_lock, gpus
from measure.errors import NoRowError
from measure.process import fork_client, run_point
from tests.bench import point

GPUS = [gpus.VisibleGpu("GPU-aaaa", "h200"), gpus.VisibleGpu("GPU-bbbb", "h200")]


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    """The file by which the first GPU is locked."""
    monkeypatch.setattr(gpu_lock, "LOCK_FOLDER", tmp_path)
    return tmp_path / "softmax-bench-GPU-aaaa.lock"


def is_free(path) -> bool:
    if fd := gpu_lock._try(path):
        os.close(fd)
    return fd is not None


def test_all_points_of_a_matrix_get_one_board_whatever_the_order_of_boards():
    reordered = [gpus.VisibleGpu("GPU-0000", "a100"), *reversed(GPUS)]
    by_size = {}
    for size in range(1, 33):
        one = point(gpu="h200", N=size)
        points = one, replace(one, variant="torch_naive", replicate=2)
        chosen = {
            gpu_lock.assigned_gpu(p, visible) for p in points for visible in (GPUS, reordered)
        }
        (by_size[size],) = chosen
    assert {gpu.uuid for gpu in by_size.values()} == {"GPU-aaaa", "GPU-bbbb"}
    assert gpu_lock.assigned_gpu(replace(one, gpu="b200"), reordered) is None


def test_a_point_waits_for_a_busy_gpu_and_says_so(path, monkeypatch):
    monkeypatch.setattr(gpu_lock, "SILENT_S", 0.1)
    messages, first = [], gpu_lock._try(path)

    def say(text):
        messages.append(text)
        os.close(first)

    with gpu_lock.acquire(GPUS[1], say), gpu_lock.acquire(GPUS[0], say) as lock:
        assert lock.gpu == GPUS[0]
        assert not is_free(path)
    assert messages == ["waiting: another point is being timed on GPU-aaaa"]


def test_the_lock_is_held_as_long_as_a_process_of_the_point_lives(path):
    with gpu_lock.acquire(GPUS[0]) as lock:
        worker = subprocess.Popen(["sleep", "600"], pass_fds=[lock.fd])
        stranger = subprocess.Popen(["sleep", "600"])  # inherits nothing
    try:
        assert not is_free(path)
        worker.kill()
        worker.wait()
        assert is_free(path)
    finally:
        for process in (worker, stranger):
            process.kill()
            process.wait()


def test_a_lock_file_that_was_cleaned_away_locks_nobody_out_for_ever(path):
    first = gpu_lock._try(path)
    path.unlink()
    with gpu_lock.acquire(GPUS[0]):
        os.close(first)
        assert not is_free(path)


def test_a_link_in_place_of_a_lock_file_is_refused(path, tmp_path):
    (tmp_path / "target").touch()
    path.symlink_to(tmp_path / "target")
    with pytest.raises(NoRowError, match="remove the file"):
        is_free(path)


def test_a_file_that_cannot_be_locked_is_no_row_and_is_closed(path, monkeypatch):
    def fails(fd, _):
        opened.append(fd)
        raise OSError(errno.ENOLCK, "No locks available")

    opened = []
    monkeypatch.setattr(gpu_lock.fcntl, "flock", fails)
    with pytest.raises(NoRowError, match="No locks available"):
        is_free(path)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_another_user_s_lock_holds(monkeypatch):
    another = ["setpriv", "--reuid=65534", "--clear-groups", "flock", "--nonblock"]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # nobody else may enter pytest's own
        monkeypatch.setattr(gpu_lock, "LOCK_FOLDER", Path(folder))
        os.chmod(folder, 0o755)
        with gpu_lock.acquire(GPUS[0]):
            (file,) = Path(folder).iterdir()
            assert subprocess.run([*another, file, "true"]).returncode == 1
        assert subprocess.run([*another, file, "true"]).returncode == 0


def test_a_worker_sees_the_gpu_that_is_held_for_it(path, monkeypatch):
    def run_worker(point, folder, lock, *_):
        assert not is_free(path)
        seen = fork_client.environment_of(point, lock)["CUDA_VISIBLE_DEVICES"]
        raise NoRowError(f"it sees {seen}")

    monkeypatch.setattr(run_point.gpus, "visible_gpus", lambda: GPUS[:1])
    monkeypatch.setattr(run_point.fork_client, "run_worker", run_worker)
    with pytest.raises(NoRowError, match="it sees GPU-aaaa"):
        run_point.measure_point(point(gpu="h200"))
