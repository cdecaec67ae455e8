"""The hashes of the current code and the settings of the sweep, which rows are compared with."""

import csv
from collections.abc import Mapping
from pathlib import Path

from analysis.errors import InputError

HASHES = ("kernel_sha256", "measure_sha256")
KEY = ("gpu", "variant")

Expected = Mapping[tuple[str, str], Mapping[str, str]]


def read(path: Path) -> Expected:
    """Return (gpu, variant) -> the values that a row should have.

    Raises InputError when the file is missing or lacks a column.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        return {tuple(line.pop(name) for name in KEY): line for line in lines}
    except (OSError, KeyError, csv.Error) as error:
        raise InputError(f"{path}: not the hashes of the code ({error}); run again") from error


def differing(row: Mapping[str, str], expected: Expected) -> list[str]:
    """Return the columns in which a row differs; the hashes, if its variant is not expected."""
    known = expected.get((row["gpu"], row["variant"]), dict.fromkeys(HASHES))
    return [name for name, value in known.items() if row[name] != value]


def is_stale(row: Mapping[str, str], expected: Expected) -> bool:
    """Return whether other code than the current one measured a row."""
    return not set(HASHES).isdisjoint(differing(row, expected))
