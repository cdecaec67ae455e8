"""Points measured by a child of a process that has everything loaded, see ``fork_server``.

The first point that asks starts the server, for the process that it names as its owner: the
Snakemake that runs the sweep. Owner, user, interpreter, checkout, measuring code and environment
are part of the socket's name, so that a server is only ever asked by points that are its own.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kernels

from .. import fingerprint
from ..device import gpus
from ..device.gpu_lock import Slot
from ..point import Point
from . import launch, process_identity, protocol

LOAD_S = 120.0  # for a server to load torch, from a slow disk
NAME = "{}.socket"
LOCK = "starting.lock"
# Differ between the jobs of one sweep, or say nothing about how Python and torch behave.
OF_THE_JOB = (
    "CUDA_VISIBLE_DEVICES",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "TMPDIR",
    "TEMPDIR",
    "TMP",
    "TEMP",
)


class NoServer(RuntimeError):
    """Why there is none; the point is measured in a fresh Python then."""


def starter(pid: int) -> launch.Start:
    """A way to start workers: by the server that belongs to process ``pid``."""

    def run(point: Point, folder: Path, slot: Slot | None = None) -> int | None:
        try:
            with _connect(launch.environment(point, slot), pid, point.rival) as connection:
                _ask(connection, point, folder, slot)
                return launch.wait(connection, point)
        except (NoServer, OSError) as reason:
            print(f"measuring in a fresh Python: {reason}", file=sys.stderr)
        except launch.Lost:
            if (folder / "progress.json").exists():
                return _lost(pid)
            # a server that was about to end, as nobody had asked for long
        return launch.python(point, folder, slot, pid)

    return run


def _lost(pid: int) -> int:
    """What to make of a worker that was lost with its keeper. Raises NoRow."""
    if process_identity.started(pid) is None:
        raise launch.NoRow(launch.ENDED.format(pid))
    return -signal.SIGKILL  # that keeper ends by nobody's hand but the kernel's


def _ask(connection: socket.socket, point: Point, folder: Path, slot: Slot | None) -> None:
    request = {
        "folder": str(folder),
        "directory": os.getcwd(),
        "environment": launch.environment(point, slot),
    }
    fds = [sys.stderr.fileno(), *([slot.fd] if slot else [])]
    protocol.send_request(connection, request, fds)


def _connect(environment: dict[str, str], pid: int, rival: str | None) -> socket.socket:
    """A connection to the server of this owner and environment, which is started if need be.

    All points of a sweep have the same rival, so that a server loads what it imports, too.
    """
    since = process_identity.started(pid)
    if since is None:
        raise NoServer(f"process {pid}, for which points are measured, has ended")
    path = private_folder() / NAME.format(_name(environment, pid, since))
    with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
        return _open(path)
    # One server, though several points may begin at once; those who come second wait here. The file
    # stays: a lock on one that has no name any more would keep nobody out.
    with path.with_name(LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return _open(path)
        except (FileNotFoundError, ConnectionRefusedError):
            path.unlink(missing_ok=True)  # of a server that was killed
        more = sorted(kernels.imported_packages(rival)) if rival else []
        capability = gpus.capability() if more else ""
        return _start(path, environment, [str(pid), since, capability, *more])


def _start(path: Path, environment: dict[str, str], words: list[str]) -> socket.socket:
    with path.with_suffix(".log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "measure.process.fork_server", str(path), *words],
            cwd=fingerprint.ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # it outlives this point; its owner's end is its own
        )
    end = time.monotonic() + LOAD_S
    while server.poll() is None and time.monotonic() < end:
        try:
            return _open(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.02)
    server.kill()
    said = path.with_suffix(".log").read_text().strip().splitlines()
    raise NoServer(f"the server did not start: {said[-1] if said else 'it said nothing'}")


def _open(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
        if protocol.peer_uid(connection) != os.getuid():
            raise NoServer(f"{path} belongs to another user")
    except BaseException:
        connection.close()
        raise
    return connection


def _name(environment: dict[str, str], pid: int, since: str) -> str:
    """What a server may serve, as a name of 16 digits."""
    same = {k: v for k, v in environment.items() if not k.startswith("SLURM_")}
    for name in OF_THE_JOB:
        same.pop(name, None)
    code = fingerprint.measure_sha256(), kernels.own_sha256()
    who = pid, since, os.getuid(), sys.executable, sys.prefix, str(fingerprint.ROOT), code
    return hashlib.sha256(json.dumps([who, same], sort_keys=True).encode()).hexdigest()[:16]


def private_folder() -> Path:
    """A folder that only this user can enter. Raises NoServer where none can be had."""
    faults = []
    for base in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        folder = Path(base or "/tmp", f"softmax-bench-{os.getuid()}")
        if len(os.fsencode(folder / NAME.format("0" * 16))) > 107:  # what a socket's name may have
            continue
        try:
            if not _is_safe(folder.parent.stat()):
                faults.append(
                    f"{folder.parent} is another user's, or anybody may rename what it has"
                )
                continue
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
        except OSError as error:  # XDG_RUNTIME_DIR outlives its folder, after su say
            faults.append(f"{folder}: {error.strerror}")
            continue
        mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if mine and not found.st_mode & 0o077:
            return folder
        faults.append(f"{folder} is not a folder of this user alone; remove it")
    raise NoServer("; ".join(dict.fromkeys(faults)))


def _is_safe(base: os.stat_result) -> bool:
    """Whether nobody but this user and root can swap what a folder holds."""
    ours = base.st_uid in (0, os.getuid())
    return ours and (not base.st_mode & 0o022 or bool(base.st_mode & stat.S_ISVTX))
