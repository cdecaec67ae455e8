"""The reaper of a point: what it answers, and how long it holds the lock of a GPU."""

import contextlib
import json
import os
import socket
import subprocess
import sys

import pytest

from measure import ROOT
from measure.device import gpu_lock
from measure.journal import Journal
from tests.processes import PATIENCE_S, until

# A reaper whose worker does what ACT says.
REAPER = """
import os, socket, subprocess, sys, time
from measure.process import reaper

def measure(job, journal):
    ACT

reaper.measure = measure
reaper.serve(socket.socket(fileno=int(sys.argv[1])))
"""
NEVER_ENDS = "os._exit = lambda code: time.sleep(600)"  # the driver may take long to end it


@pytest.fixture
def reaped(tmp_path):
    """reaped(act): the connection to a reaper, which holds the lock ``reaped.lock``."""
    lock = tmp_path / "lock"

    def start(act: str) -> socket.socket:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        near.settimeout(PATIENCE_S)
        stack.enter_context(near)
        job = {"point": {"timeout_s": PATIENCE_S}, "environment": dict(os.environ)}
        (tmp_path / "job.json").write_text(
            json.dumps(job | {"directory": str(tmp_path)}), encoding="utf-8"
        )
        command = [sys.executable, "-c", REAPER.replace("ACT", act), str(far.fileno())]
        with far:
            subprocess.Popen(command, cwd=ROOT, pass_fds=[far.fileno()], start_new_session=True)
        held = gpu_lock._try(lock)
        socket.send_fds(near, [os.fsencode(tmp_path)], [2, held])
        os.close(held)
        return near

    lock.touch()
    start.lock = lock
    with contextlib.ExitStack() as stack:
        yield start


def test_a_worker_with_a_lock_answers_before_its_end_and_holds_the_lock_until_then(reaped):
    connection = reaped(NEVER_ENDS)
    assert connection.recv(64) == b"0"
    assert gpu_lock._try(reaped.lock) is None
    connection.close()
    os.close(until(lambda: gpu_lock._try(reaped.lock)))


def test_the_answer_is_how_the_worker_ended_and_not_what_it_forked(reaped):
    assert reaped("if os.fork(): os.wait(); raise SystemExit").recv(64) == b"1"


def test_a_copy_of_the_worker_that_a_kernel_has_forked_writes_no_journal(tmp_path):
    journal = Journal(tmp_path)
    if (copy := os.fork()) == 0:
        journal.stage("begun")
        os._exit(0)
    os.waitpid(copy, 0)
    assert not list(tmp_path.iterdir())
    journal.stage("begun")
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]
