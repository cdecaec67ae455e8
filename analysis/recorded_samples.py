"""The samples of a recorded sweep: are they there, and do they say what its rows say?"""

import csv
import gzip
import statistics
import zlib
from pathlib import Path

from analysis import record, schema
from analysis.errors import InputError

VARIANT = "variant"  # the series of a row's own samples
ROUNDED_US = 1e-6  # samples have six decimals
ROUNDED = 1e-8  # and a row's times nine digits


def check(path: Path, part: list[dict[str, str]]) -> None:
    """Raise InputError unless every timed row has its samples, and their median is its time."""
    times = _times(path)
    for row in part:
        point = tuple(row[name] for name in schema.POINT)
        of_row = times.pop(point, [])
        where = f"{path}: {' '.join(point)}"
        if len(of_row) != int(row["n_samples"] or 0):
            raise InputError(f"{where}: {len(of_row)} samples, the row says {row['n_samples']}")
        if not of_row and row["time_us"]:
            raise InputError(f"{where}: a time, but no samples")
        if not of_row:
            continue
        median, said = statistics.median(of_row), float(row["time_us"])
        if abs(median - said) > ROUNDED_US + ROUNDED * said:
            raise InputError(f"{where}: the samples' median is {median} µs, the row says {said}")
    if times:
        raise InputError(f"{path}: {' '.join(next(iter(times)))}: samples of no row")


def _times(path: Path) -> dict[tuple[str, ...], list[float]]:
    """Point -> µs of its own samples."""
    found: dict[tuple[str, ...], list[float]] = {}
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
            if header != [*schema.POINT, *record.SAMPLE]:
                raise InputError(f"{path}: its columns are {header}; record the sweep again")
            for line in lines:
                if len(line) != len(header):
                    raise ValueError(f"a line has {len(line)} values")
                *_, series, time_us = line
                if series == VARIANT:
                    found.setdefault(tuple(line[: len(schema.POINT)]), []).append(float(time_us))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path}: not readable samples ({error})") from error
    return found
