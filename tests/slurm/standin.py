"""Stands in for measuring, where GPUs are fakes: writes down who asked, and makes up a row.

A copy of the project gets this file as measure/standin.py, so that the rule's command, the command
line of `measure` and the writing of rows are the real ones. A file `crash` names variants that
crash. While there is a file `hold`, which says a number, no point after so many goes on.
"""

import contextlib
import json
import os
import time
from pathlib import Path

import kernels

from . import provenance
from .row import IDENTITY

VISITS, CRASH, HOLD = Path("visits.jsonl"), Path("crash"), Path("hold")
TIMES = {
    **{"time_us": 10.0, "time_us_q20": 9.9, "time_us_q80": 10.1, "latency_us": 5.0},
    **{"copy_us": 9.0, "torch_us": 12.0, "of_copy": 0.9, "throughput_gbps": 1000.0},
    **{"speedup": 1.2, "speedup_low": 1.19, "speedup_high": 1.21},
    **{"aa_ratio": 1.0, "aa_low": 0.999, "aa_high": 1.001},
    **{"timing": "graph", "n_samples": 40},
    **{"max_abs_error": 0.0, "max_rel_error": 0.0, "max_row_sum_error": 0.0},
}
GPU_NAMES = {"a100": "NVIDIA A100-SXM4-80GB", "h200": "NVIDIA H200", "l40s": "NVIDIA L40S"}


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
    time.sleep(0.2)  # so that two points at once would be seen
    patience = time.monotonic() + 400  # should nobody be left to let it go
    while _held() and time.monotonic() < patience:
        time.sleep(0.1)
    row = {name: getattr(point, name) for name in IDENTITY} | {"gpu_name": GPU_NAMES[point.gpu]}
    row |= {"kernel_sha256": kernels.kernel_sha256(point.variant)}
    row |= {"measure_sha256": provenance.measure_sha256(), "hostname": visit["node"]}
    row |= {"driver": "1.0", "cuda": "13.0", "torch": "2.13.0", "triton": "3.7.1", "python": "3.12"}
    if CRASH.exists() and point.variant in CRASH.read_text().split():
        row |= {"status": "crash", "message": "the process ended (signal SIGSEGV) in stage: time"}
    else:
        row |= {"status": "ok", "message": "", **TIMES}
    _note({"id": visit["id"], "end": time.time()})
    return row, [(0, 0, "variant", 10.0), (0, 1, "torch", 12.0)]


def _held() -> bool:
    with contextlib.suppress(FileNotFoundError):  # released between two looks
        return int(HOLD.read_text()) < VISITS.read_text().count('"begin"')
    return False


def _note(what: dict) -> None:
    """One whole line, also where several processes write."""
    with VISITS.open("ab", buffering=0) as file:
        file.write(json.dumps(what).encode() + b"\n")
