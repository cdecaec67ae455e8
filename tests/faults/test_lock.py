"""The lock of a folder: one holder, a message for the second, free however the holder ends."""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from measure.fingerprint import ROOT
from workflow import lock

LOCK_SOURCE = (ROOT / "workflow/lock.py").read_text()  # a stranger may not enter the checkout
AS_STRANGER = (
    "import sys; from pathlib import Path\n"
    "exec(compile(sys.argv[1], 'lock', 'exec')); print(take(Path(sys.argv[2])))"
)
HOLDS = (
    "import sys; from pathlib import Path; from workflow import lock\n"
    "print(lock.take(Path(sys.argv[1])), flush=True); sys.stdin.read()"
)


@pytest.fixture
def holder(tmp_path):
    """Start a process that takes the lock of a folder, and says what it was told."""
    started = []

    def take():
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDS, str(tmp_path / "results")],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process, process.stdout.readline().strip()

    yield take
    for process in started:
        process.kill()
        process.communicate()


def test_the_second_is_told_who_holds_it_and_what_to_do(holder, tmp_path):
    first, told = holder()
    assert told == "None"
    _, told = holder()
    assert told.startswith(f"another sweep runs in {tmp_path / 'results'}: process {first.pid} on ")
    assert "Wait for its end, or end it, and call again" in told


def test_a_holder_that_was_killed_holds_nothing(holder):
    first, _ = holder()
    first.kill()
    first.wait()
    assert holder()[1] == "None"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_a_folder_that_users_share_is_locked_by_either():
    folder = Path(tempfile.mkdtemp())
    code = HOLDS.replace("sys.stdin.read()", "pass")
    take = [sys.executable, "-c", code, str(folder)]
    run = {"cwd": ROOT, "capture_output": True, "text": True}
    try:
        folder.chmod(0o777)
        assert subprocess.run(take, **run).stdout == "None\n"
        stranger = ["setpriv", "--reuid=65534", "--clear-groups", "python3", "-c", AS_STRANGER]
        command = [*stranger, LOCK_SOURCE, str(folder)]
        done = subprocess.run(command, **run | {"cwd": "/", "env": {"PATH": "/usr/bin:/bin"}})
        assert done.stdout == "None\n", done.stderr
    finally:
        shutil.rmtree(folder)


def test_a_holder_that_has_not_written_its_name_yet_is_one(tmp_path):
    with (tmp_path / lock.NAME).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "it has just begun" in lock.take(tmp_path)


@pytest.mark.parametrize("number", sorted(lock.WITHOUT_LOCKS))
def test_a_file_system_without_locks_is_warned_of(tmp_path, monkeypatch, capsys, number):
    def refuse(descriptor, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    assert lock.take(tmp_path) is None
    assert "see to it yourself that no other sweep runs here" in capsys.readouterr().err


def test_what_cannot_be_written_is_one_message(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    told = lock.take(tmp_path / "file" / "results")
    assert told.startswith(f"cannot write {tmp_path}/file/results/.lock: ")
    assert "call again" in told

    def full(descriptor, text, offset):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(lock.os, "pwrite", full)
    assert "No space left on device" in lock.take(tmp_path)
