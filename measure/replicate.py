"""Reuse the row of replicate 1 for what further replicates need not check or measure again.

All replicates of a point have the same kernel and the same rooflines. So a further one only times
blocks and eager calls, and then checks three rows. Columns of other measurements stay empty.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from . import fingerprint, provenance, row
from .errors import PointError
from .point import CPU, Point
from .status import Status

FLAGS = {"edge_cases", "not_cold"}  # flags that only replicate 1 checks for
TRANSIENT = (Status.OUT_OF_MEMORY, Status.TIMEOUT)  # statuses that other processes may cause


class FirstReplicate(NamedTuple):
    """Hold what replicate 1 has established about a variant that was timed."""

    message: str
    flags: set[str]
    copy_form: str | None  # None on a CPU
    meet_form: str | None  # None if ``read_meet_write`` does not apply


def read_first(path: Path, point: Point) -> dict:
    """Read the row of a point's replicate 1. Raises PointError if the file has another row."""
    try:
        first_row = row.read_row(path)
    except (OSError, ValueError) as error:
        raise PointError(f"--checked {path}: {error}") from error
    for name in row.IDENTITY:
        expected = 1 if name == "replicate" else getattr(point, name)
        if first_row[name] != expected:
            raise PointError(
                f"--checked {path}: its {name} is {first_row[name]!r}, not {expected!r}"
            )
    return first_row


def first_replicate_to_reuse(first_row: dict) -> FirstReplicate | None:
    """Return what can be reused of this row; if nothing can, log the reason and return None."""
    current = fingerprint.fingerprint(first_row["variant"], first_row["op"])
    if fingerprint.without_attempt(first_row["fingerprint"] or "") != current:
        why = "other code or other packages have measured the first replicate"
    elif first_row["switches"] != provenance.switches(first_row["gpu"] == CPU):
        why = "the first replicate ran with other switches of the environment"
    elif first_row["status"] in TRANSIENT:
        why = f"the first replicate ended with {first_row['status']}"
    else:
        flags = {*(first_row["flags"] or "").split()} & FLAGS
        chosen = first_row["copy_form"], first_row["meet_form"]
        return FirstReplicate(first_row["message"] or "", flags, *chosen)
    print(f"checking everything: {why}", file=sys.stderr, flush=True)
    return None


def repeat_failure(first_row: dict) -> dict:
    """Return the row of a further replicate, if the first one has failed and would fail again."""
    return first_row | {"message": f"repeated from replicate 1: {first_row['message'] or ''}"}
