"""A process that has torch, Triton and the measuring code loaded, and forks a child per point.

``python -m measure.server SOCKET OWNER START`` listens on SOCKET until the process OWNER, which
began at START, is gone, or until nobody has asked for IDLE_S. It never opens a CUDA context: a
child opens its own, in 0.3 s instead of the 3 s of a fresh Python, and dies with its point. The
child of a request dies, with all that it has started, when its connection is half-closed or broken.
"""

import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path
from typing import NamedTuple

from . import wire, worker
from .owner import is_alive

IDLE_S = 600.0
REQUEST_S = 10.0  # to send one; those who ask are on this machine
# What a child would import; what fails here is left to it, whose row will say what is missing.
LOADED = ("torch", "triton", "measure.stages", "measure.telemetry", "measure.copy_kernel")
LOADED += ("measure.audit", "measure.cold", "measure.triton_kernels")


class Child(NamedTuple):
    """A worker, the descriptor that tells of its end, and who asked for it."""

    pid: int
    pidfd: int
    connection: socket.socket


class Server:
    """Serves any number of requests at once, in one thread: with more it could not be forked."""

    def __init__(self, listener: socket.socket, owner: int):
        self._listener = listener
        self._owner = owner
        self._children: dict[int, Child] = {}  # by pidfd
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(owner, selectors.EVENT_READ, None)

    def run(self) -> None:
        """Until the owner is gone, or nobody has asked for IDLE_S."""
        try:
            while True:
                idle_s = None if self._children else IDLE_S
                ready = self._selector.select(idle_s)
                if not ready or any(key.data is None for key, _ in ready):
                    return
                for key, _ in ready:
                    # what one of them ended, a later one may still name
                    if key.fd in self._selector.get_map():
                        key.data(key.fileobj)
        finally:
            for child in list(self._children.values()):
                self._end(child)

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.settimeout(REQUEST_S)
        fds: list[int] = []
        try:
            if wire.peer_uid(connection) != os.getuid():
                return
            request, fds = wire.receive_request(connection)
            self._fork(connection, request, fds)
            connection = None
        except (ValueError, OSError) as error:
            print(f"refused: {error}", file=sys.stderr, flush=True)
        finally:
            for fd in fds:
                os.close(fd)
            if connection:
                connection.close()

    def _fork(self, connection: socket.socket, request: dict, fds: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            self._become_worker(connection, request, fds)
        child = Child(pid, os.pidfd_open(pid), connection)
        self._children[child.pidfd] = child
        self._selector.register(child.pidfd, selectors.EVENT_READ, self._ended)
        # readable: half-closed or broken, since nothing more is said
        self._selector.register(connection, selectors.EVENT_READ, self._unwanted)

    def _become_worker(self, connection: socket.socket, request: dict, fds: list[int]):
        """In the child: never returns."""
        code = 1
        try:
            os.setsid()  # so that all it starts can be ended with it
            log, *_ = fds  # the others, the lock of the GPU, stay open as long as this lives
            os.dup2(log, 1)  # a kernel's prints belong into the log
            os.dup2(log, 2)
            os.close(log)
            self._selector.close()
            # A copy of these would keep them from ending when their own process ends.
            for held in (self._listener, connection, *(c.connection for c in self._others())):
                held.close()
            for pidfd in (self._owner, *self._children):
                os.close(pidfd)
            os.environ.clear()
            os.environ.update(request["environment"])
            os.chdir(request["directory"])
            worker.main(Path(request["folder"]))
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _others(self) -> list[Child]:
        return list(self._children.values())

    def _ended(self, pidfd: int) -> None:
        self._end(self._children[pidfd])

    def _unwanted(self, connection: socket.socket) -> None:
        (child,) = (c for c in self._others() if c.connection is connection)
        self._end(child)

    def _end(self, child: Child) -> None:
        """Kill what is left of a child and its group, and answer."""
        with contextlib.suppress(ProcessLookupError):  # all gone already
            os.killpg(child.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):  # it may not have had a group yet
            signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)
        _, status = os.waitpid(child.pid, 0)
        with contextlib.suppress(OSError):  # whoever asked may be gone
            wire.send_answer(child.connection, os.waitstatus_to_exitcode(status))
        self._selector.unregister(child.pidfd)
        self._selector.unregister(child.connection)
        del self._children[child.pidfd]
        os.close(child.pidfd)
        child.connection.close()


def load() -> None:
    """Import what every child needs. Raises RuntimeError where this process must not be forked."""
    # OpenBLAS starts its threads when numpy is imported, and threads do not survive a fork.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        raise RuntimeError("a CUDA context is open, which no fork can use")
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise RuntimeError(f"{threads} threads are running, and a fork has only one")
    gc.collect()
    gc.freeze()  # or every child would copy what its first collection touches


def main(path: Path, owner: int, started: str) -> None:
    """Load, listen, serve; the socket is removed at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    try:
        pidfd = os.pidfd_open(owner)
    except ProcessLookupError:
        return
    if not is_alive(owner, started):  # asked after it is open: now it cannot become another's
        return
    begin = time.monotonic()
    load()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        try:
            listener.listen(64)
            print(f"serving after {time.monotonic() - begin:.2f} s", file=sys.stderr, flush=True)
            Server(listener, pidfd).run()
        finally:
            path.unlink(missing_ok=True)
            if not is_alive(owner, started):  # nobody will ask again
                path.with_suffix(".log").unlink(missing_ok=True)
                path.with_suffix(".lock").unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
