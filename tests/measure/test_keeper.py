"""Who keeps a worker answers for it: when it has ended, or, of one with a lock, when it is done."""

import os
import select
import socket
import subprocess
import sys

import pytest

from measure.device import gpu_lock
from measure.fingerprint import ROOT

PATIENCE_S = 60
SHORT_S = 1.0  # in which an answer would have come
# A keeper that does not notice that its worker has ended until it is told: as where the driver
# takes long to end one.
KEEPS = """
import fcntl, os, socket, sys, time
from measure.process import reaper as keeper

lock = os.open(sys.argv[2], os.O_CREAT | os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)
heard, said = os.pipe()

def spawn():
    pid = os.fork()
    if pid == 0:
        ACT
        os.write(said, keeper.word_of(os.getpid()))
        time.sleep(600)
    return pid

def waitpid(pid, options, wait=os.waitpid):
    if options == 0:
        print("waits", flush=True)
        sys.stdin.readline()
    return wait(pid, options)

os.waitpid = waitpid
keeper.keep(socket.socket(fileno=int(sys.argv[1])), spawn, None, heard)
"""


@pytest.fixture
def kept(tmp_path):
    """A function that starts a keeper whose worker does something; (keeper, connection, lock)."""
    started = []

    def start(act: str) -> tuple[subprocess.Popen, socket.socket, os.PathLike]:
        here, there = socket.socketpair()
        here.settimeout(PATIENCE_S)
        lock = tmp_path / "lock"
        with there:
            process = subprocess.Popen(
                [sys.executable, "-c", KEEPS.replace("ACT", act), str(there.fileno()), str(lock)],
                cwd=ROOT,
                pass_fds=[there.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        started.append((process, here))
        return process, here, lock

    yield start
    for process, here in started:
        here.close()  # which ends its worker
        process.stdin.close()
        process.wait(PATIENCE_S)
        process.stdout.close()


def test_a_worker_that_is_done_is_answered_for_while_it_ends_and_holds_its_lock(kept):
    process, connection, lock = kept("pass")
    assert connection.recv(4, socket.MSG_WAITALL) == bytes(4)
    assert process.stdout.readline() == "waits\n", "it was killed, and its end is waited for"
    connection.close()  # whoever asked is gone
    assert gpu_lock._try(lock) is None
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0
    os.close(gpu_lock._try(lock))


@pytest.mark.parametrize(
    "act",
    [
        "os.fork() or time.sleep(600)",
        "os.fork() and time.sleep(600)",
        "os.close(said); time.sleep(600)",
    ],
    ids=["has started another", "another says so", "cannot say so"],
)
def test_a_worker_that_may_not_be_done_is_not_answered_for(kept, act):
    _, connection, _ = kept(act)
    assert select.select([connection], [], [], SHORT_S)[0] == []


def test_a_worker_that_says_so_and_ends_is_answered_for_once(kept):
    process, connection, _ = kept("os.write(said, b'1'); os._exit(3)")
    process.stdin.close()
    assert connection.recv(8, socket.MSG_WAITALL) == (3).to_bytes(4, "big")
