"""Load torch, Triton and the measuring code once, and fork for every point.

``python -m measure.process.fork_server LISTENER OWNER [bare]`` takes the descriptors of a listening
socket and of the process with which the server ends (a pidfd). A ``bare`` server preloads nothing.

Each child becomes the reaper of one point. So no point waits for another, and points survive the
death of the server. The server opens no CUDA context, because a forked child could not use it.
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

# Modules that workers import; no variants, because an edited one must take effect at the next
# point. If an import fails here, it fails again in the worker, which reports what is missing.
PRELOADED = (
    *("torch", "triton", "triton.compiler.code_generator", "numpy.random", "numpy.ma"),
    *("cuda.core", "cuda.bindings.nvrtc", "measure.pipeline", "measure.device.telemetry"),
    *("measure.clock.graph", "measure.clock.roofline"),
)
DEVICE_FILE_PREFIX = "/dev/nvidia"  # files through which processes call the driver


def load() -> None:
    # OpenBLAS starts threads when numpy is imported, and threads do not survive a fork. Snakemake
    # sets OPENBLAS_NUM_THREADS=2 for a job of two threads, which is overridden here.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in PRELOADED:
        with contextlib.suppress(Exception):  # a broken package may raise anything
            importlib.import_module(name)
    # Triton hashes its own files before the first kernel of a process, which takes 0.3 s.
    with contextlib.suppress(Exception):
        importlib.import_module("triton.runtime.cache").triton_key()
    fingerprint.measuring_files()  # fills its cache for all workers


def why_not_forkable() -> str | None:
    """Return why a fork of this process could not measure a point, or None if it can."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        return "a CUDA context is open, which no fork can use"
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # raised for the listing's own descriptor
            # a package other than torch may have opened the driver
            if (path := os.readlink(f"/proc/self/fd/{fd}")).startswith(DEVICE_FILE_PREFIX):
                return f"the driver is in use ({path}), and a fork cannot use it then"
    threads = len(os.listdir("/proc/self/task"))
    return f"{threads} threads are running, and a fork has only one" if threads > 1 else None


def serve(listener: socket.socket, owner: int) -> None:
    """Fork a reaper for each point until the owner ends. Points that are running go on."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Linux then reaps ended children

    def reap() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()  # keeps signals to the server's process group from the point
        listener.close()
        os.close(owner)
        reaper.serve(connection)

    while owner not in select.select([listener, owner], [], [])[0]:
        connection, _ = listener.accept()
        with connection:
            if reaper.peer_uid(connection) == os.getuid():
                reaper.fork(reap)


def main(listener: int, owner: int, bare: bool) -> None:
    """Load and serve. If the process cannot be forked after loading, become a bare server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    replace_missing_characters()  # a kernel may then print any text
    begin = time.monotonic()
    if not bare:
        load()
    if reason := why_not_forkable():
        if bare:
            sys.exit(f"fork server: {reason}; a package does that when Python starts")
        print(f"fork server: loading nothing, as {reason}", file=sys.stderr, flush=True)
        os.execv(sys.executable, [*sys.orig_argv, "bare"])
    gc.collect()
    gc.freeze()  # or a child's first collection would write to, and so copy, all objects
    print(f"fork server: ready after {time.monotonic() - begin:.2f} s", file=sys.stderr, flush=True)
    # Close the log of the point that started this server, whose reader waits until all close it.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for standard in (1, 2):
            os.dup2(nowhere.fileno(), standard)
    with socket.socket(fileno=listener) as listening:
        serve(listening, owner)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), bare=len(sys.argv) > 3)
