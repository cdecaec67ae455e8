"""A process that has torch, Triton and the measuring code loaded, and forks for every point.

``python -m measure.process.fork_server SOCKET OWNER START CAPABILITY MODULE…`` listens on SOCKET
until the process OWNER, which began at START, is gone, or until nobody has asked for IDLE_S.
It loads the modules, too; CAPABILITY, as 9.0, is what they are told when they ask torch for the
GPU's, "" where that is not known. It never
opens a CUDA context: a worker opens its own, and dies with its point.

It does nothing but accept and fork. What it forks reads the request, forks the worker and keeps it
(``reaper``), so that no point waits for another, and none is lost with this process.

A worker with a CUDA context takes 0.1 s to end. Where the lock of its GPU keeps the next point off
it that long, the one who asked is answered when the worker says that it has nothing left to do.
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
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import fingerprint
from . import protocol, reaper, worker
from .process_identity import open_pidfd, watch

IDLE_S = 600.0
REQUEST_S = 10.0  # to send one; those who ask are on this machine
# What a worker would import; what fails here is left to it, whose row will say what is missing.
# Nothing of kernels/ that a variant may use: an edit of it must reach the next point.
LOADED = (
    "torch",
    "triton",
    "measure.pipeline",
    "measure.device.telemetry",
    "measure.clock.copy_kernel",
)
LOADED += (
    "measure.check.graph_audit",
    "measure.clock.cold",
    "measure.clock.l2",
    "measure.device.compiled_triton",
)
LOADED += ("cuda.core", "cuda.bindings.nvrtc", "numpy.random", "numpy.ma")
LOADED += ("triton.compiler.code_generator",)
DRIVER = "/dev/nvidia"  # how the names of the files begin by which a process talks to the driver


class Server:
    """Serves requests in one thread: a process with more could not be forked."""

    def __init__(self, listener: socket.socket, owner: int):
        self._listener, self._owner = listener, owner
        self._keepers: dict[int, int] = {}  # pidfd to pid
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(owner, selectors.EVENT_READ)

    def run(self) -> None:
        """Until the owner is gone, or nobody has asked for IDLE_S."""
        while True:
            ready = {key.fd for key, _ in self._selector.select(None if self._keepers else IDLE_S)}
            if not ready or self._owner in ready:
                return  # those who keep a worker see the owner's end themselves
            for pidfd in ready & set(self._keepers):
                self._selector.unregister(pidfd)
                os.close(pidfd)
                self._wait(self._keepers.pop(pidfd))
            if self._listener.fileno() in ready:
                self._accept()

    def _wait(self, keeper: int) -> None:
        """Wait for what has ended: this one, and those that looked after others."""
        with contextlib.suppress(ChildProcessError):  # none is left, or it was among the others
            os.waitpid(keeper, 0)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def _accept(self) -> None:
        with self._listener.accept()[0] as connection:
            if protocol.peer_uid(connection) != os.getuid():
                print("refused: another user", file=sys.stderr, flush=True)
                return
            pid = os.fork()
            if pid == 0:
                self._become_keeper(connection)
        pidfd = open_pidfd(pid)
        self._keepers[pidfd] = pid
        self._selector.register(pidfd, selectors.EVENT_READ)

    def _become_keeper(self, connection: socket.socket) -> None:
        """In the child: never returns."""
        try:
            os.setsid()
            self._selector.close()
            self._listener.close()
            for pidfd in self._keepers:
                os.close(pidfd)
            request, fds = protocol.receive_request(connection, REQUEST_S)
            heard, said = os.pipe()

            def spawn() -> int:
                return _fork_worker(connection, request, fds, said)

            # without a lock, the next point may begin as soon as this one is answered
            reaper.keep(connection, spawn, self._owner, heard if len(fds) > 1 else None)
            os._exit(0)
        except (ValueError, OSError) as error:
            print(f"refused: {error}", file=sys.stderr, flush=True)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)


def _fork_worker(connection: socket.socket, request: dict, fds: list[int], said: int) -> int:
    """Start the worker of a request; its pid. The lock of the GPU, in ``fds``, is open in both.

    The last that the worker does is writing its pid to ``said``.
    """
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        connection.close()
        log = fds[0]
        os.dup2(log, 1)  # a kernel's prints belong into the log
        os.dup2(log, 2)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["directory"])
        worker.main(Path(request["folder"]), parent)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        if code == 0:
            with contextlib.suppress(OSError):  # a kernel may have closed it
                os.write(said, reaper.word_of(os.getpid()))
        os._exit(code)


def load(more: Sequence[str] = (), capability: str = "") -> None:
    """Import what every worker needs, and ``more``, if this process can be forked with that.

    ``capability``: of the GPU, for those that ask while they are imported. Raises RuntimeError
    where it must not be forked.
    """
    # OpenBLAS starts its threads when numpy is imported, and threads do not survive a fork. Not
    # setdefault: Snakemake gives a job of two threads OPENBLAS_NUM_THREADS=2.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    _import(LOADED)
    _hash_triton()
    fingerprint.measure_sha256()  # or every worker would work it out for its row
    check_can_fork()
    with _answering(capability):
        if more and _stays_fit(more):
            _import(more)
            check_can_fork()
    gc.collect()
    gc.freeze()  # or every child would copy what its first collection touches


def _import(names: Sequence[str]) -> None:
    for name in names:
        with contextlib.suppress(Exception):  # whatever is wrong with it
            importlib.import_module(name)


@contextlib.contextmanager
def _answering(capability: str) -> Iterator[None]:
    """Have torch say, without the driver, that there is a GPU, and of which compute capability.

    QuACK asks both while it is imported. torch itself would open the driver, which no fork could
    use then.
    """
    if not capability or "torch" not in sys.modules:
        yield
        return
    cuda = sys.modules["torch"].cuda
    told = {
        "is_available": lambda: True,
        "get_device_capability": lambda device=None: tuple(map(int, capability.split("."))),
    }
    kept = {name: getattr(cuda, name) for name in told}
    vars(cuda).update(told)
    try:
        yield
    finally:
        vars(cuda).update(kept)


def _stays_fit(names: Sequence[str]) -> bool:
    """Whether this process could be forked with these; a child tries, as there is no way back.

    Other projects' modules may start threads, open the driver, or end the process.
    """
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _import(names)
            check_can_fork()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def check_can_fork() -> None:
    """Raise RuntimeError where a fork of this process could not do what a worker does."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        raise RuntimeError("a CUDA context is open, which no fork can use")
    # torch does not know what other packages have opened
    if opened := [path for path in _open_files() if path.startswith(DRIVER)]:
        raise RuntimeError(f"the driver is in use ({opened[0]}), and a fork cannot use it then")
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise RuntimeError(f"{threads} threads are running, and a fork has only one")


def _open_files() -> list[str]:
    found = []
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
    return found


def _hash_triton() -> None:
    """Let Triton hash all of its own files, once for all workers.

    It takes 0.3 s, and each process would do it when it compiles or loads its first kernel.
    """
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):  # newer, older
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module(name).triton_key()
            return


def main(path: Path, owner: int, started: str, capability: str = "", *more: str) -> None:
    """Load, listen, serve; the socket is removed at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    pidfd = watch(owner, started)
    if pidfd is None:
        return
    begin = time.monotonic()
    load(more, capability)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        mine = path.stat().st_ino
        try:
            listener.listen(64)
            print(f"serving after {time.monotonic() - begin:.2f} s", file=sys.stderr, flush=True)
            Server(listener, pidfd).run()
        finally:
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == mine:  # else another has taken this one's place
                    path.unlink()
                    path.with_suffix(".log").unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
