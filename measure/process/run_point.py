"""Turn one point into one row, however the worker that measures it ends."""

import contextlib
import errno
import json
import os
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from ..device import gpu_lock, gpus
from ..errors import NoRowError
from ..point import Point
from ..row import IDENTITY, one_line
from ..status import Status
from . import fork_client

MIN_FREE_BYTES = 2**20  # more than a worker writes
# Errors of the temporary folder that using another folder would avoid.
NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
COUNTERS = Path("/proc/vmstat")


def measure_point(
    point: Point, owner: int | None = None, first_row: dict | None = None
) -> tuple[dict, list[tuple]]:
    """Measure a point in its own process, alone on its GPU; return its row and its samples.

    ``owner`` is the pid of the process whose fork server is used (default: this one). ``first_row``
    is the row of replicate 1 (see ``replicate``). Raises NoRowError if the machine lacks the GPU,
    or if the worker failed before the kernel could be at fault.
    """
    gpu = gpu_lock.assigned_gpu(point, gpus.visible_gpus())
    if not gpu and not point.is_cpu:
        _log(f"no GPU is locked for this point: NVML finds no {point.gpu} on this machine")
    with gpu_lock.acquire(gpu, _log) if gpu else contextlib.nullcontext() as lock:
        return _measured(point, lock, owner or os.getpid(), first_row)


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _measured(
    point: Point, lock: gpu_lock.GpuLock | None, owner: int, first_row: dict | None
) -> tuple[dict, list[tuple]]:
    begin, started_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    try:
        with tempfile.TemporaryDirectory(prefix="point-") as name:
            folder = Path(name)
            kills = oom_kills()
            returncode = fork_client.run_worker(point, folder, lock, owner, first_row)
            row, samples = _row_of_worker(point, folder, returncode, oom_kills() - kills)
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise NoRowError(f"the point could not be started: {error}") from error
        raise NoRowError(
            f"cannot write {tempfile.gettempdir()}: {error.strerror}; make room there, or set "
            "TMPDIR to a folder that has some, and call again"
        ) from error
    row |= {name: getattr(point, name) for name in IDENTITY if name != "gpu"}
    row["timeout_s"] = point.timeout_s
    row["fingerprint"] = point.fingerprint or row["fingerprint"]
    row["message"] = one_line(row.get("message", ""))
    return row | {"started_at": started_at, "wall_s": time.monotonic() - begin}, samples


def oom_kills() -> int:
    """Return how many processes Linux has killed since boot because memory ran out."""
    with contextlib.suppress(OSError):
        counts = dict(line.split() for line in COUNTERS.read_text(encoding="utf-8").splitlines())
        return int(counts.get("oom_kill", 0))
    return 0


def _row_of_worker(
    point: Point, folder: Path, returncode: int | None, new_oom_kills: int
) -> tuple[dict, list[tuple]]:
    """Return the row and the samples of a worker that has ended, from its journal and exit code.

    Raises NoRowError, and OSError if a full disk has ended the worker.
    """
    path = folder / "progress.json"
    progress = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"row": {}}
    row, stage = progress["row"], progress.get("stage")
    if "refused" in progress:
        raise NoRowError(progress["refused"])
    if "samples" in progress:
        return row, [tuple(sample) for sample in progress["samples"]]
    (folder / "free_space").write_bytes(bytes(MIN_FREE_BYTES))  # raises if the disk is full
    if "gpu" not in row:
        raise NoRowError(
            f"the worker ended ({_ending(returncode)}) before it had opened the device"
        )
    if returncode is None:
        row["status"] = Status.TIMEOUT
        row["message"] = f"killed after {point.timeout_s:g} s, in stage: {stage}"
    elif returncode == -signal.SIGKILL and new_oom_kills:
        row["status"] = Status.OUT_OF_MEMORY
        row["message"] = f"no memory was left, and Linux killed the process in stage: {stage}"
    else:
        row["status"] = Status.CRASH
        row["message"] = f"the process ended ({_ending(returncode)}) in stage: {stage}"
    return row, []


def _ending(returncode: int | None) -> str:
    if returncode is None:
        return "killed after its time limit"
    if returncode < 0:
        return f"signal {signal.Signals(-returncode).name}"
    return f"exit code {returncode}"
