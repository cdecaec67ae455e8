"""Take from the row of replicate 1 what a further replicate does not check or measure again.

All replicates of a point have one kernel and one copy kernel. So a further one times the blocks,
and then checks three rows. Its row leaves out what replicate 1 alone measures.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import kernels

from . import fingerprint, row
from .errors import BadPoint
from .point import Point
from .status import Status

FLAGS = {"edge_cases", "launch_bound", "not_cold"}  # only replicate 1 looks for them
CHANCE = (Status.OUT_OF_MEMORY, Status.TIMEOUT)  # other processes may have caused these


class Known(NamedTuple):
    """Hold what replicate 1 has found out about a variant that was timed."""

    message: str
    flags: set[str]
    copy_block_bytes: int | None  # None on a CPU


def read_first(path: Path, point: Point) -> dict:
    """Return the row of replicate 1 of a point. Raises BadPoint if the file has another row."""
    try:
        first = row.read_row(path)
    except (OSError, ValueError) as error:
        raise BadPoint(f"--checked {path}: {error}") from error
    for name in row.IDENTITY:
        wanted = 1 if name == "replicate" else getattr(point, name)
        if first[name] != wanted:
            raise BadPoint(f"--checked {path}: its {name} is {first[name]!r}, not {wanted!r}")
    return first


def known(first: dict) -> Known | None:
    """Return what a further replicate takes from this row; None, and a log, if it takes nothing.

    A row that failed is taken whole: see ``repeated``.
    """
    code = fingerprint.measure_sha256(), kernels.kernel_sha256(first["variant"], first["gpu"])
    if (first["measure_sha256"], first["kernel_sha256"]) != code:
        why = "other code has measured the first replicate"
    elif first["package_versions"] != fingerprint.package_versions(first["variant"]):
        why = "the first replicate ran with other versions of packages"
    elif first["status"] in CHANCE:
        why = f"the first replicate ended with {first['status']}"
    else:
        flags = {*(first["flags"] or "").split()} & FLAGS
        return Known(first["message"] or "", flags, first["copy_block_bytes"])
    print(f"checking everything: {why}", file=sys.stderr, flush=True)
    return None


def repeated(first: dict) -> dict:
    """Return the row of a further replicate if the first has failed, and would fail again."""
    return first | {"message": f"repeated from replicate 1: {first['message'] or ''}"}
