"""The study's table: one line per tool, process and point, written as they are measured."""

import csv
import os
from collections.abc import Iterable
from pathlib import Path

from measure.point import Point
from measure.row import one_line

# time_us: the median that the tool hands, µs per call; low and high: 0.2 and 0.8 quantiles of its
# samples, where it hands enough of them; cost_s: seconds that this took, inputs not counted.
COLUMNS = (
    *("harness", "process", "variant", "M", "N"),
    *("time_us", "low", "high", "n_samples", "cost_s", "error"),
)


def line(harness: str, process: int, point: Point, **found) -> dict:
    """A line of the table; ``found``: what is known of time_us … error, the others stay empty."""
    if "error" in found:
        found["error"] = one_line(found["error"])
    # six digits: far below what any tool can tell apart
    found = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in found.items()}
    names = {"variant": point.variant, "M": point.M, "N": point.N}
    return dict.fromkeys(COLUMNS, "") | {"harness": harness, "process": process} | names | found


def append(path: Path, lines: Iterable[dict]) -> None:
    """Add lines, and above the first the header; they are on the disk when this returns."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(lines)


def read(path: Path) -> list[dict]:
    """Lines of a table, all values text; [] where there is none."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, lines: Iterable[dict]) -> None:
    """Write a whole table at once, over the one that may be there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    append(temporary, lines)
    temporary.replace(path)


def missing(lines: Iterable[dict], points: Iterable[Point]) -> list[Point]:
    """Those of the points that no line is about."""
    known = {(found["variant"], int(found["M"]), int(found["N"])) for found in lines}
    return [point for point in points if (point.variant, point.M, point.N) not in known]
