"""The row contract: names, order and types of the columns, read from workflow/schemas/row.csv.

That file is the only definition of a row; nothing here repeats its columns.
"""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Relative to this file, not to the working directory: `analysis` runs from anywhere.
ROW_CSV = Path(__file__).resolve().parents[1] / "workflow" / "schemas" / "row.csv"

# What names a point, in the order of the folders under results/cells/.
POINT = ("gpu", "op", "dtype", "distribution", "M", "N", "variant")

# The columns that merging puts before those of a row: the sweep that asked for it, and where it
# comes from: `measured` by this run, or `recorded` (data/recorded/).
LEADING = ("sweep", "origin")

# Those of results/measurements.csv. Collecting adds whether the row ranks, and whether it is stale:
# other code than the current one measured it. Both are `true` or `false`.
COLLECTED = (*LEADING, "ranked", "stale")

# Facts of an environment that are told only where a row has them.
OPTIONAL = ("cuda_core", "nvrtc")

# Bytes per element of torch's dtypes.
ITEMSIZE = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Column:
    """One line of row.csv. `type` is str, int, float or bool."""

    name: str
    group: str
    type: str
    unit: str
    meaning: str


@cache
def columns() -> tuple[Column, ...]:
    """The columns of a row, in order."""
    with ROW_CSV.open(newline="", encoding="utf-8") as file:
        return tuple(Column(*line) for line in list(csv.reader(file))[1:])


@cache
def header() -> tuple[str, ...]:
    """The names of the columns of a row, in order."""
    return tuple(column.name for column in columns())


@cache
def statuses() -> tuple[str, ...]:
    """The allowed values of `status`: row.csv lists them in the column's meaning."""
    (status,) = (column for column in columns() if column.name == "status")
    return tuple(status.meaning.split(" / "))


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


@cache
def parsers() -> dict[str, tuple[Callable[[str], object], str]]:
    """Per column that is not text: the function that reads a non-empty value, and what it allows.

    The function raises ValueError. Only an accuracy may be nan or inf: that is what a kernel
    that returned NaN has.
    """
    kinds = {
        "int": (int, "a whole number"),
        "float": (_float, "a finite number"),
        "bool": (_bool, "true or false"),
    }
    return {
        column.name: (float, "a number") if column.group == "accuracy" else kinds[column.type]
        for column in columns()
        if column.type != "str"
    }
