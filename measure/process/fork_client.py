"""Ask a fork server for a process that runs a point, and wait for that process to end.

The server (``fork_server``) has torch loaded, which saves 3.6 s per point on a GPU host. The first
point that needs a server starts it. It ends with its owner, which is the Snakemake that runs the
sweep, or the measuring command itself.

Clients find the server by the name of its socket, a hash of owner, user, interpreter, environment
and the modification times of SERVED, so that no point gets a server with other code. The socket is
abstract: it leaves no file behind, and only one server can take its name.
"""

import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from .. import ROOT
from ..device.gpu_lock import GpuLock
from ..errors import NoRowError
from ..point import Point
from . import reaper

LOAD_S = 120.0  # more than a server takes to load torch from a slow disk
KILLED_S = 60.0  # more than the processes of a point take to end after being killed
BACKLOG = 64  # points that may connect at the same time
# Attempts to connect, POLL_S apart: more than another point needs to listen after taking the name.
ATTEMPTS = 100
OWNER_ENDED = "the process for which this point is measured (--served-for) has ended"
# Variables that differ between the jobs of a sweep, but do not affect how torch is loaded.
PER_JOB_VARIABLES = ("CUDA_VISIBLE_DEVICES", "PWD", "OLDPWD", "SHLVL", "_")
PER_JOB_VARIABLES += ("TMPDIR", "TEMPDIR", "TMP", "TEMP")
# Project files that a server has loaded. Hashing their content would take 60 ms per point.
SERVED = ("measure/**/*.py", "measure/row.csv", "operations/*.py", "kernels/*.py")
SERVED += ("kernels/registry/*.py", "kernels/cuda/*.py")


def run_worker(
    point: Point, folder: Path, lock: GpuLock | None, owner: int, first_row: dict | None = None
) -> int | None:
    """Run a point's worker; return its exit code, or None if it exceeded its time limit.

    The worker writes to ``folder``, and ends with the process ``owner``. ``lock`` stays held as
    long as any process of the point lives. ``first_row`` is the row of replicate 1. Raises
    NoRowError, and OSError if ``folder`` cannot be written.
    """
    environment = environment_of(point, lock)
    job = {"point": asdict(point), "first_row": first_row}
    job |= {"environment": environment, "directory": os.getcwd()}
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    fds = [sys.stderr.fileno(), *([lock.fd] if lock else [])]
    try:
        with reaper.open_pidfd(owner) as pidfd:
            end_of_owner = pidfd.fileno()
            with _connect(environment, owner, end_of_owner) as connection:
                socket.send_fds(connection, [os.fsencode(folder)], fds)
                return _answer(connection, end_of_owner, point.timeout_s)
    except ProcessLookupError:
        raise NoRowError(OWNER_ENDED) from None
    except OSError as error:
        # Once its worker has begun, a reaper does not fail by itself, so it was killed.
        if (folder / "progress.json").exists():
            return -signal.SIGKILL
        raise NoRowError(f"the fork server did not answer ({error}); the log says why") from error


def environment_of(point: Point, lock: GpuLock | None) -> dict[str, str]:
    """Return the environment of a point's worker, in which it sees only the locked GPU."""
    environment = with_project(os.environ)
    if point.is_cpu:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    elif lock:
        environment["CUDA_VISIBLE_DEVICES"] = lock.gpu.uuid
    if point.interpreted:
        environment["TRITON_INTERPRET"] = "1"
    return environment


def with_project(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with this project on PYTHONPATH, so that any folder will do."""
    path = str(ROOT), environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def _answer(connection: socket.socket, end_of_owner: int, timeout_s: float) -> int | None:
    """Wait for a reaper's answer, the exit code; None if the point exceeded its time limit.

    Raises NoRowError if the owner ends or no answer comes, OSError if the reaper ends.
    """
    try:
        patience_s = LOAD_S + timeout_s + KILLED_S
        ready, _, _ = select.select([connection, end_of_owner], [], [], patience_s)
    except BaseException:  # this job is being cancelled: first end the point
        with contextlib.suppress(OSError):  # the reaper may have ended already
            connection.shutdown(socket.SHUT_WR)
            select.select([connection], [], [], 1.0)
        raise
    if end_of_owner in ready:
        raise NoRowError(OWNER_ENDED)
    if not ready:
        raise NoRowError(
            f"the point took longer than {timeout_s:g} s and did not end within {KILLED_S:g} s of "
            "being killed; its GPU may need a reset"
        )
    answer = connection.recv(64)
    if not answer:
        raise ConnectionError("the connection was closed")
    return None if answer == reaper.TIMED_OUT else int(answer)


def _connect(environment: dict[str, str], owner: int, end_of_owner: int) -> socket.socket:
    """Return a connection to the server; start it if necessary. Raises ConnectionError."""
    name = socket_name(environment, owner)
    for _ in range(ATTEMPTS):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(name)
        except ConnectionRefusedError:
            connection.close()
            _start(name, environment, end_of_owner)
            continue
        if reaper.peer_uid(connection) != os.getuid():
            raise ConnectionError("the socket belongs to another user")
        return connection
    raise ConnectionError("the socket does not listen")


def _start(name: str, environment: dict[str, str], end_of_owner: int) -> None:
    """Start a server, unless another point is doing so. Points can connect while it loads."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        try:
            listener.bind(name)
        except OSError:  # another point has taken the name, and has not called listen() yet
            time.sleep(reaper.POLL_S)
            return
        listener.listen(BACKLOG)
        fds = listener.fileno(), end_of_owner
        subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.fork_server", *map(str, fds)],
            cwd=ROOT,  # Python imports from here first, and not from the job's folder
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            pass_fds=fds,
            start_new_session=True,  # Ctrl-C must reach only the measuring command
        )


def socket_name(environment: dict[str, str], owner: int) -> str:
    variables = {
        name: value
        for name, value in environment.items()
        if name not in PER_JOB_VARIABLES and not name.startswith("SLURM_")
    }
    files = sorted(path for pattern in SERVED for path in ROOT.glob(pattern))
    code = [(str(path), path.stat().st_mtime_ns) for path in files]
    # includes the mount namespace, because containers that share a network share abstract names
    machine = os.getuid(), os.readlink("/proc/self/ns/mnt"), sys.executable, sys.prefix
    text = json.dumps([owner, machine, code, variables], sort_keys=True)
    return f"\0softmax-bench-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
