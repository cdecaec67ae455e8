"""Load torch, Triton and the measuring code once, and fork for every point.

``python -m measure.process.fork_server LISTENER OWNER [bare]``: descriptors of a listening socket,
and of the process with which the server ends (a pidfd). A ``bare`` server loads nothing beforehand.

Each child becomes the reaper of one point. So no point waits for another, and the server's death
ends no point. The server opens no CUDA context, because no fork could use it.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time

from kernels.terminal import replace_missing_characters

from .. import fingerprint
from . import reaper

# Modules that a worker imports, but no variant: an edit of one must reach the next point. If an
# import fails here, it fails in the worker again, which says what is missing.
PRELOADED = (
    *("torch", "triton", "triton.compiler.code_generator", "numpy.random", "numpy.ma"),
    *("cuda.core", "cuda.bindings.nvrtc", "measure.pipeline", "measure.device.telemetry"),
    *("measure.clock.graph", "measure.clock.roofline"),
)
DEVICE_FILE_PREFIX = "/dev/nvidia"  # prefix of the files through which a process calls the driver


def load() -> None:
    # OpenBLAS starts threads when numpy is imported, and no thread survives a fork. This overrides
    # Snakemake, which sets OPENBLAS_NUM_THREADS=2 for a job of two threads.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in PRELOADED:
        with contextlib.suppress(Exception):  # a broken package may raise anything
            importlib.import_module(name)
    # Triton hashes its own files for the first kernel of a process, which takes 0.3 s.
    with contextlib.suppress(Exception):
        importlib.import_module("triton.runtime.cache").triton_key()
    fingerprint.measuring_files()  # cached, for the rows of all workers


def why_not_forkable() -> str | None:
    """Return None, or why a fork of this process could not measure a point."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        return "a CUDA context is open, which no fork can use"
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the descriptor of the listing itself
            # another package than torch may have opened the driver
            if (path := os.readlink(f"/proc/self/fd/{fd}")).startswith(DEVICE_FILE_PREFIX):
                return f"the driver is in use ({path}), and a fork cannot use it then"
    threads = len(os.listdir("/proc/self/task"))
    return f"{threads} threads are running, and a fork has only one" if threads > 1 else None


def serve(listener: socket.socket, owner: int) -> None:
    """Fork a reaper for each point until the owner ends. Points in flight go on."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Linux removes children that have ended

    def reap() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()  # no signal to the server's group reaches the point
        listener.close()
        os.close(owner)
        reaper.serve(connection)

    while owner not in select.select([listener, owner], [], [])[0]:
        connection, _ = listener.accept()
        with connection:
            if reaper.peer_uid(connection) == os.getuid():
                reaper.fork(reap)


def main(listener: int, owner: int, bare: bool) -> None:
    """Load and serve. If the process cannot be forked then, become a bare server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    replace_missing_characters()  # a kernel may print any text without ending it
    begin = time.monotonic()
    if not bare:
        load()
    if reason := why_not_forkable():
        if bare:
            sys.exit(f"fork server: {reason}; a package does that when Python starts")
        print(f"fork server: loading nothing, as {reason}", file=sys.stderr, flush=True)
        os.execv(sys.executable, [*sys.orig_argv, "bare"])
    gc.collect()
    gc.freeze()  # otherwise a child's first collection writes to, and so copies, all objects
    print(f"fork server: ready after {time.monotonic() - begin:.2f} s", file=sys.stderr, flush=True)
    # Close the log of the point that started the server: its reader waits until all have closed it.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for standard in (1, 2):
            os.dup2(nowhere.fileno(), standard)
    with socket.socket(fileno=listener) as listening:
        serve(listening, owner)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), bare=len(sys.argv) > 3)
