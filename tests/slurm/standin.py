"""Stands in for measuring, where GPUs are fakes: writes down who asked, and changes a row.

A copy of the project gets this file as measure/standin.py, so that the rule's command, the command
line of `measure` and the writing of rows are the real ones. The rows are those of `ok.csv`, and of
`crash.csv` for torch_naive. While there is a file `hold`, which says a number, no point after so
many goes on.
"""

import contextlib
import json
import os
import time
from pathlib import Path

import kernels

from . import fingerprint
from .row import IDENTITY, SCHEMA_VERSION, read_row

VISITS, HOLD = Path("visits.jsonl"), Path("hold")


def measure_point(point, *_) -> tuple[dict, list[tuple]]:
    """A row as `run_point.measure_point` gives it."""
    visit = {
        "id": f"{time.time_ns()} {os.getpid()}",
        "point": f"{point.gpu}/M{point.M}_N{point.N}/{point.variant}.{point.replicate}",
        "node": os.environ.get("SLURMD_NODENAME"),
        "job": os.environ.get("SLURM_JOB_ID"),
        "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }
    _note(visit | {"begin": time.time()})
    time.sleep(0.2)  # two points at once would be seen
    patience = time.monotonic() + 400  # should nobody be left to let it go
    if _held():
        _note({"id": visit["id"], "held": True})
    while _held() and time.monotonic() < patience:
        time.sleep(0.1)
    row = read_row(Path("crash.csv" if point.variant == "torch_naive" else "ok.csv"))
    row |= {name: getattr(point, name) for name in IDENTITY}
    row |= {"gpu_name": f"NVIDIA {point.gpu.upper()}", "hostname": visit["node"]}
    row |= {"kernel_sha256": kernels.kernel_sha256(point.variant)}
    row |= {"measure_sha256": fingerprint.measure_sha256(row["op"])}
    row |= {"fingerprint": point.fingerprint, "timeout_s": point.timeout_s}
    row |= {"schema_version": SCHEMA_VERSION}
    _note({"id": visit["id"], "end": time.time()})
    return row, [(0, 0, "variant", 10.0), (0, 1, "torch", 12.0)]


def _held() -> bool:
    with contextlib.suppress(FileNotFoundError):  # released between two looks
        return int(HOLD.read_text(encoding="utf-8")) < VISITS.read_text(encoding="utf-8").count(
            '"begin"'
        )
    return False


def _note(event: dict) -> None:
    """One whole line, also where several processes write."""
    with VISITS.open("ab", buffering=0) as file:
        file.write(json.dumps(event).encode() + b"\n")
