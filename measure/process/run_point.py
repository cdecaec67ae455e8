"""One point, one row: starts the worker, and writes the row whatever becomes of it."""

import contextlib
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ..device import gpu_lock, gpus
from ..point import Point
from ..row import one_line
from . import launch, oom_score
from .launch import NoRow

ROOM = 2**20  # bytes; what a worker writes is less


def measure_point(point: Point, run: launch.Start = launch.python) -> tuple[dict, list[tuple]]:
    """(row, samples) of a point, measured in a process of its own, alone on its GPU.

    Raises NoRow when the machine does not have the GPU, or when the worker failed before the kernel
    had a part in it.
    """
    with _held(point) as slot:
        return _measured(point, run, slot)


@contextlib.contextmanager
def _held(point: Point) -> Iterator[gpu_lock.Slot | None]:
    """A GPU of the point's kind; none for the CPU, or where there is none: the worker says so."""
    wanted = [] if point.is_cpu else [gpu for gpu in gpus.devices() if gpu.slug == point.gpu]
    if not wanted:
        if not point.is_cpu:
            print(
                f"no GPU is held for this point: NVML names none that is {point.gpu} here, and "
                "nothing keeps other points off it",
                file=sys.stderr,
                flush=True,
            )
        yield None
        return
    try:
        slot = gpu_lock.acquire(wanted, lambda text: print(text, file=sys.stderr, flush=True))
    except gpu_lock.NoSlot as error:
        raise NoRow(str(error)) from error
    try:
        yield slot
    finally:
        slot.release()


def _measured(
    point: Point, run: launch.Start, slot: gpu_lock.Slot | None
) -> tuple[dict, list[tuple]]:
    begin, started_at = time.monotonic(), datetime.now(UTC)
    with _scratch() as folder:
        (folder / "point.json").write_text(json.dumps(point.as_dict()))
        kills = oom_score.kills()
        returncode = run(point, folder, slot)
        row, samples = _outcome(point, folder, returncode, oom_score.kills() - kills)
    identity = {k: getattr(point, k) for k in ("op", "dtype", "distribution", "M", "N", "variant")}
    row |= identity | {"seed": point.seed, "message": one_line(row.get("message", ""))}
    row["started_at"] = started_at.isoformat(timespec="seconds")
    row["wall_s"] = time.monotonic() - begin
    return row, samples


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A folder in which the worker can tell what it does. Raises NoRow where it has no room."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="point-")
    except OSError as error:
        raise _no_room("a temporary folder", error) from error
    with scratch as name:
        _check_room(Path(name))
        yield Path(name)


def _check_room(folder: Path) -> None:
    """Raise NoRow where a worker could not write any more."""
    path = folder / "room"
    try:
        path.write_bytes(bytes(ROOM))
    except OSError as error:
        raise _no_room(folder, error) from error
    finally:
        path.unlink(missing_ok=True)


def _no_room(folder: str | Path, error: OSError) -> NoRow:
    return NoRow(
        f"cannot write {folder}: {error.strerror}; make room there, or set TMPDIR to a folder that "
        "has some, and call again"
    )


def _outcome(
    point: Point, folder: Path, returncode: int | None, oom_kills: int
) -> tuple[dict, list[tuple]]:
    if refused := _read(folder / "refused.json"):
        raise NoRow(refused["message"])
    if done := _read(folder / "done.json"):
        return done["row"], [tuple(s) for s in done["samples"]]
    _check_room(folder)  # or the worker's end would be taken for the kernel's doing
    progress = _read(folder / "progress.json")
    if progress is None or "gpu" not in progress["row"]:
        raise NoRow(f"the worker ended ({_ending(returncode)}) before it had opened the device")
    row, stage = progress["row"], progress["stage"]
    if returncode is None:
        row["status"] = "timeout"
        row["message"] = f"killed after {point.timeout_s:g} s, in stage: {stage}"
    elif returncode == -signal.SIGKILL and oom_kills:
        row["status"] = "out_of_memory"
        row["message"] = f"no memory was left, and the system ended the process in stage: {stage}"
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
