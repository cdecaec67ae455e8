"""Starting the worker of a point, and waiting for its end."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ..device.gpu_lock import Slot
from ..fingerprint import ROOT
from ..point import Point
from . import process_identity, protocol

# Runs the worker in a folder, on the GPU that is held for it; the worker's return code, None where
# the point's time was up.
Start = Callable[[Point, Path, Slot | None], int | None]
ENDED = "process {}, for which this point was measured, has ended"
KILLED_S = 60.0  # for the processes of a point to end once they are killed


class NoRow(RuntimeError):
    """The pipeline itself is at fault, or this machine is the wrong one: nothing was written."""


class Lost(Exception):
    """Whoever kept the worker ended before it answered."""


def environment(point: Point, slot: Slot | None) -> dict[str, str]:
    """The environment of a point's worker: it sees the GPU that is held for it, and no other."""
    found = dict(os.environ)
    found["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), found.get("PYTHONPATH"))))
    if point.is_cpu:
        found["CUDA_VISIBLE_DEVICES"] = ""
    elif slot:
        found["CUDA_VISIBLE_DEVICES"] = slot.gpu.uuid
    if point.interpreted:
        found["TRITON_INTERPRET"] = "1"
    return found


def python(
    point: Point, folder: Path, slot: Slot | None = None, pid: int | None = None
) -> int | None:
    """Run the worker in a fresh Python; its return code, None where its time was up.

    Nothing that it has started survives it, and it ends with the process ``pid``, if one is given.
    ``slot`` stays held while any of it lives. Raises NoRow where it does not end when it is killed,
    and where that process has ended.
    """
    since = process_identity.started(pid) if pid else None
    if pid and since is None:
        raise NoRow(ENDED.format(pid))
    owned_by = [str(pid), since] if pid else []
    here, there = socket.socketpair()
    with here, there:
        fds = [there.fileno(), *([slot.fd] if slot else [])]
        keeper = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "measure.process.reaper",
                str(there.fileno()),
                str(folder),
                *owned_by,
            ],
            env=environment(point, slot),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,  # a kernel's prints belong into the log
            start_new_session=True,  # Ctrl-C is for this process, which then says what to do
            pass_fds=fds,
        )
        there.close()
        try:
            return wait(here, point)
        except Lost:
            code = keeper.wait()
            if pid and not process_identity.is_alive(pid, since):
                raise NoRow(ENDED.format(pid)) from None
            return code
        finally:
            here.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                keeper.wait(1)


def wait(connection: socket.socket, point: Point) -> int | None:
    """The return code of a worker, None where its time was up and it was killed.

    Raises Lost where no answer comes, NoRow where the worker does not end.
    """
    connection.settimeout(point.timeout_s)
    try:
        return _answer(connection)
    except TimeoutError:
        # Its end is waited for: nothing of this point may run beside the next one.
        connection.settimeout(KILLED_S)
        connection.shutdown(socket.SHUT_WR)
    try:
        _answer(connection)
    except TimeoutError:
        raise NoRow(
            f"the point took longer than {point.timeout_s:g} s and did not end within "
            f"{KILLED_S:g} s of being killed; its GPU may need a reset"
        ) from None
    return None


def _answer(connection: socket.socket) -> int:
    try:
        code = protocol.receive_answer(connection)
    except ConnectionError:
        code = None
    if code is None:
        raise Lost
    return code
