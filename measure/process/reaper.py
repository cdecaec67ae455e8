"""Run the worker of one point, and leave none of the point's processes behind.

A kernel may start processes, move them to other sessions, and die. The reaper adopts them all
(PR_SET_CHILD_SUBREAPER), kills them, and keeps the GPU locked until they have ended.

A request is one message: the path of the point's folder, with the descriptors of the log and, if
there is one, of the GPU's lock. The answer is one message: the worker's exit code, or TIMED_OUT. If
the measuring command closes its end of the connection, the reaper kills the point.
"""

import contextlib
import ctypes
import io
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from ..errors import NoRowError
from ..journal import Journal
from ..point import Point

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
PIDFD_OPEN = 434  # number of the system call on every architecture: asm-generic/unistd.h
REQUEST_S = 10.0  # a client sends its request at once; this allows for a busy machine
POLL_S = 0.01
TIMED_OUT = b"timed out"


def serve(connection: socket.socket) -> None:
    """Receive one request, run its worker, end all processes that it started, and answer."""
    connection.settimeout(REQUEST_S)
    message, fds, _, _ = socket.recv_fds(connection, 4096, 2)
    connection.settimeout(None)
    folder = Path(os.fsdecode(message))
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    for standard in (1, 2):
        os.dup2(fds[0], standard)  # a kernel's output goes to the log
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    own_pid, locked = os.getpid(), len(fds) > 1

    def work() -> None:
        worker_pid = os.getpid()
        os.setsid()
        # A kernel that never returns must not outlive its reaper.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != own_pid:  # the reaper ended before the line above
            os._exit(1)
        if not locked:
            connection.close()
        os.environ.clear()
        os.environ.update(job["environment"])
        os.chdir(job["directory"])
        measure(job, Journal(folder))
        # Exiting with a CUDA context takes 0.1 s, so a worker with a lock answers before it exits;
        # the lock holds the next point back. A copy that the kernel has forked must not answer.
        if locked and os.getpid() == worker_pid:
            _answer(connection, b"0")

    pid = fork(work)
    end_of_worker = open_pidfd(pid)
    sources = [end_of_worker, connection]
    ready, _, _ = select.select(sources, [], [], job["point"]["timeout_s"])
    os.kill(pid, signal.SIGKILL)  # until waitpid(), the pid cannot belong to another process
    _, status = os.waitpid(pid, 0)
    end_descendants()
    code = str(os.waitstatus_to_exitcode(status)).encode()
    _answer(connection, code if end_of_worker in ready else TIMED_OUT)


def measure(job: dict, journal: Journal) -> None:
    """Measure the point of a job; write its row and samples to the journal."""
    # If memory runs out, Linux shall kill this process and its children, and not the sweep.
    with contextlib.suppress(OSError):  # some containers forbid it
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")
    point = Point(**job["point"])
    journal.stage("importing torch")

    from .. import pipeline  # imports torch

    try:
        samples = pipeline.measure(point, journal, job["first_row"])
    except NoRowError as error:
        journal.stage("refused", refused=str(error))
    else:
        journal.stage("done", samples=samples)


def _answer(connection: socket.socket, answer: bytes) -> None:
    with contextlib.suppress(OSError):  # the measuring command has ended or has an answer already
        connection.send(answer)


def fork(act: Callable[[], None]) -> int:
    """Run ``act`` in a child process, which exits with 1 if it raises; return the child's pid."""
    if pid := os.fork():
        return pid
    code = 1
    try:
        act()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def end_descendants() -> None:
    """Kill every child and wait until it has ended; its children then become this process's."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        time.sleep(POLL_S)


def open_pidfd(pid: int) -> io.FileIO:
    """Return a file that becomes readable when a process ends (a pidfd).

    Raises ProcessLookupError. Makes the system call itself: conda's Python lacks os.pidfd_open.
    """
    pidfd = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_OPEN, pid, 0)
    if pidfd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return io.FileIO(pidfd)


def peer_uid(connection: socket.socket) -> int:
    """Return the user id of the process at the other end of a connection (SO_PEERCRED)."""
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return struct.unpack("3i", credentials)[1]
