"""The process between whoever wants a point measured and its worker: it lets nothing survive.

The kernel of a point may start processes, give them sessions of their own, and die. All of them
become this process's children (PR_SET_CHILD_SUBREAPER), and end before it answers; so do they when
nobody waits for the answer any more.
"""

import contextlib
import ctypes
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from . import process_identity, protocol

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
POLL_S = 0.01


def keep(
    connection: socket.socket,
    spawn: Callable[[], int],
    pidfd: int | None = None,
    heard: int | None = None,
) -> None:
    """Start a worker by ``spawn``, which gives its pid, and answer with its return code.

    It is killed when the other end of the connection is half-closed or gone, or when the process
    behind ``pidfd`` ends; then there is no answer. When it has written its ``word_of`` to the pipe
    ``heard`` and there is no other process of the point, it is killed, too, and the answer, 0, does
    not wait for its end; this function does.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    pid = spawn()
    worker = process_identity.open_pidfd(pid)
    with selectors.DefaultSelector() as selector:
        for source in (worker, connection, *(fd for fd in (pidfd, heard) if fd is not None)):
            selector.register(source, selectors.EVENT_READ)
        owned, answered = True, False
        while worker not in (ready := {key.fd for key, _ in selector.select()}):
            for fd in ready:
                selector.unregister(fd)
            done = ready == {heard}
            if done and not (_says_it_is_done(heard, pid) and _is_only_child(pid)):
                continue
            # It has nothing left to do, or nobody waits any more. Its end may take a while, and is
            # waited for all the same.
            os.kill(pid, signal.SIGKILL)  # its number is its own until it is waited for
            owned = owned and pidfd not in ready
            if done:
                _answer(connection, 0)
                answered = True
    _, status = os.waitpid(pid, 0)
    end_descendants()
    if owned and not answered:  # or what came of it would be taken for the kernel's doing
        _answer(connection, os.waitstatus_to_exitcode(status))


def word_of(pid: int) -> bytes:
    """How a worker says that it is done: not what another process says that it has forked."""
    return str(pid).encode()


def _says_it_is_done(heard: int, pid: int) -> bool:
    return os.read(heard, 64) == word_of(pid)


def _is_only_child(pid: int) -> bool:
    return [child.pid for child in psutil.Process().children(recursive=True)] == [pid]


def _answer(connection: socket.socket, returncode: int) -> None:
    with contextlib.suppress(OSError):  # whoever asked may be gone
        protocol.send_answer(connection, returncode)


def end_descendants() -> None:
    """Kill all children of this process and wait for their end; their own become its children."""
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


def main(fd: int, folder: Path, owned_by: tuple[int, str] | None) -> None:
    """Keep a worker in a fresh Python, for whoever is at the other end of the socket ``fd``.

    ``owned_by``: the process with which it ends (number and start, see ``owner``), None for none.
    """
    pidfd = process_identity.watch(*owned_by) if owned_by else None
    if owned_by and pidfd is None:
        return
    command = [sys.executable, "-m", "measure.process.worker", str(folder), str(os.getpid())]
    with socket.socket(fileno=fd) as connection:
        # the lock of the GPU, inherited, is handed on
        keep(connection, lambda: subprocess.Popen(command, close_fds=False).pid, pidfd)


if __name__ == "__main__":
    os.set_inheritable(int(sys.argv[1]), False)
    pid, since = sys.argv[3:] or (None, None)
    main(int(sys.argv[1]), Path(sys.argv[2]), (int(pid), since) if pid else None)
