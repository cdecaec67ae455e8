"""One point, one row: starts the worker, and writes the row whatever becomes of it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from .fingerprint import ROOT
from .point import Point
from .row import one_line


class NoRow(RuntimeError):
    """The pipeline itself is at fault, or this machine is the wrong one: nothing was written."""


Start = Callable[[Point, Path], int | None]  # runs the worker in a folder; its return code


def measure_point(point: Point, start: Start | None = None) -> tuple[dict, list[tuple]]:
    """(row, samples) of a point, measured in a process of its own.

    ``start`` runs the worker and ends all that it has started; it gives the return code, None where
    the point's time was up. Not given: a fresh Python. Raises NoRow when the machine does not have
    the GPU, or when the worker failed before the kernel had a part in it.
    """
    begin, started_at = time.monotonic(), datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="point-") as name:
        folder = Path(name)
        (folder / "point.json").write_text(json.dumps(point.as_dict()))
        returncode = (start or start_python)(point, folder)
        row, samples = _outcome(point, folder, returncode)
    identity = {k: getattr(point, k) for k in ("op", "dtype", "distribution", "M", "N", "variant")}
    row |= identity | {"seed": point.seed, "message": one_line(row.get("message", ""))}
    row["started_at"] = started_at.isoformat(timespec="seconds")
    row["wall_s"] = time.monotonic() - begin
    return row, samples


def start_python(point: Point, folder: Path) -> int | None:
    """The worker's return code; None when it was killed because its time was up."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(ROOT), environment.get("PYTHONPATH")))
    )
    if point.gpu == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    if point.interpreted:
        environment["TRITON_INTERPRET"] = "1"
    worker = subprocess.Popen(
        [sys.executable, "-m", "measure.worker", str(folder)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,  # a kernel's prints belong into the log
        start_new_session=True,  # so that all it starts can be ended with it
    )
    try:
        return worker.wait(point.timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _kill(worker)


def _kill(worker: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):  # all gone already
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def _outcome(point: Point, folder: Path, returncode: int | None) -> tuple[dict, list[tuple]]:
    if refused := _read(folder / "refused.json"):
        raise NoRow(refused["message"])
    if done := _read(folder / "done.json"):
        return done["row"], [tuple(s) for s in done["samples"]]
    progress = _read(folder / "progress.json")
    if progress is None or "gpu" not in progress["row"]:
        raise NoRow(f"the worker ended ({_ending(returncode)}) before it had opened the device")
    row, stage = progress["row"], progress["stage"]
    if returncode is None:
        row["status"] = "timeout"
        row["message"] = f"killed after {point.timeout_s:g} s, in stage: {stage}"
    else:
        row["status"] = "crash"
        row["message"] = f"the process ended ({_ending(returncode)}) in stage: {stage}"
    return row, []


def _ending(returncode: int | None) -> str:
    if returncode is None:
        return "killed, its time was up"
    if returncode < 0:
        return f"signal {signal.Signals(-returncode).name}"
    return f"exit code {returncode}"


def _read(path: Path) -> dict | None:
    return json.loads(path.read_text()) if path.exists() else None
