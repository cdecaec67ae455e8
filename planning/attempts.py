"""Find the fingerprint under which the rows of a point lie, or will lie.

A row says `out_of_memory` if another process used the memory, and `timeout` because of a limit that
the config may have raised since. The next call measures the replicates of such a point again,
as a second attempt: ``3f9a2c1b_2`` after ``3f9a2c1b``. So its rows have paths of their own. The
earlier rows stay on disk, and no table has them. A row `unavailable` needs no attempt, because a
package that is installed changes the fingerprint.
"""

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from measure.fingerprint import ATTEMPT_MARK, fingerprint
from measure.point import Point
from measure.row import read_row
from measure.status import Status

# The statuses as they stand in a file. Few files have these words, and only those are parsed.
WORDS = tuple(f",{status},".encode() for status in (Status.OUT_OF_MEMORY, Status.TIMEOUT))


def current(replicates: Sequence[Point], row_path: Callable[[Point], str]) -> list[Point]:
    """Return the replicates of one point with the fingerprint of the attempt that counts.

    That is the first attempt of which no row is to be measured again. `row_path` gives the file of
    a row.
    """
    base = fingerprint(replicates[0].variant, replicates[0].op)
    for number in itertools.count(1):
        planned = [point.with_fields(fingerprint=_attempt(base, number)) for point in replicates]
        if not _failed(map(row_path, planned), planned[0].timeout_s):
            return planned


def previous(point: Point) -> list[Point]:
    """Return a point in each attempt before its own."""
    base, _, number = point.fingerprint.partition(ATTEMPT_MARK)
    return [point.with_fields(fingerprint=_attempt(base, n)) for n in range(1, int(number or 1))]


def _attempt(base: str, number: int) -> str:
    return f"{base}{ATTEMPT_MARK}{number}" if number > 1 else base


def _failed(paths: Iterable[str], timeout_s: float) -> bool:
    """Return whether one of these files has a row that the next call measures again."""
    for path in filter(os.path.exists, paths):
        try:
            if not any(word in Path(path).read_bytes() for word in WORDS):
                continue
            row = read_row(Path(path))
        except (OSError, ValueError):  # `merge` says what is wrong with it
            continue
        raised = row["status"] == Status.TIMEOUT and timeout_s > row["timeout_s"]
        if raised or row["status"] == Status.OUT_OF_MEMORY:
            return True
    return False
