"""Starting the worker of a point: its environment, and a fresh Python for it."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from .fingerprint import ROOT
from .point import Point
from .slots import Slot


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


def python(point: Point, folder: Path, slot: Slot | None = None) -> int | None:
    """Run the worker in a fresh Python; its return code, None where its time was up.

    Ends all that it has started. ``slot`` stays held while any of them lives.
    """
    worker = subprocess.Popen(
        [sys.executable, "-m", "measure.worker", str(folder)],
        env=environment(point, slot),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,  # a kernel's prints belong into the log
        start_new_session=True,  # so that all it starts can be ended with it
        pass_fds=[slot.fd] if slot else [],
    )
    try:
        return worker.wait(point.timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):  # all gone already
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
