"""The columns of a row, and the flags that keep a row from ranking (columns: measure/row.csv)."""

import math
from collections.abc import Callable, Collection
from functools import cache

from kernels import DTYPES as ITEMSIZE  # torch's name of a dtype -> bytes of an element
from measure.row import COLUMNS, IDENTITY, POINT, SCHEMA

__all__ = ["COLUMNS", "IDENTITY", "ITEMSIZE", "POINT", "SCHEMA", "flags", "parsers"]

# torch's own function, timed in every point.
BASELINE = "torch_softmax"

# The columns before those of a row: merging writes the name of the sweep, and the origin of the
# row: `measured` by this run, or `recorded` (data/recorded/).
LEADING = ("sweep", "origin")
# What the variants of one matrix share, in merged rows.
SWEEP_MATRIX = [*LEADING, *POINT[:-1]]

# Collecting adds whether the row ranks (`true` or `false`), what excludes it from that, and whether
# other code than the current one measured it: results/measurements.csv.
ELIGIBILITY = ("ranked", "unranked_by", "stale")
COLLECTED = (*LEADING, *ELIGIBILITY)

# Versions that only the rows of some variants have.
OPTIONAL = ("cuda_core", "nvrtc")

# The flags that exclude a row from the ranking by default, as in config.yaml. Beyond L2 nothing
# moves bytes faster than a copy: such a time is an error of the measurement.
UNRANKED = ("faster_than_copy",)
OTHER_BOARD = "other_board"  # no flag of a row: only its matrix tells


def flags() -> tuple[str, ...]:
    """Return every flag that a row may carry."""
    return SCHEMA["flags"].allowed


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _some_of(allowed: Collection[str], many: bool = False) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not set(text.split() if many else [text]) <= set(allowed):
            raise ValueError(text)
        return text

    return parse


@cache
def parsers() -> dict[str, tuple[Callable[[str], object], str]]:
    """Map each column that is not free text, `ranked` and `stale` to a parser and what it allows.

    The parser raises ValueError. Only an accuracy may be nan or inf: a kernel may return NaN.
    """
    kinds = {
        "int": (int, "a whole number"),
        "float": (_float, "a finite number"),
        "bool": (_some_of(("true", "false")), "true or false"),
    }
    found = dict.fromkeys(("ranked", "stale"), kinds["bool"])
    for name, column in SCHEMA.items():
        if column.allowed:
            parse = _some_of(column.allowed, many=name == "flags")
            found[name] = (parse, f"one of {', '.join(column.allowed)}")
        elif column.group == "accuracy":
            found[name] = (float, "a number")
        elif column.type in kinds:
            found[name] = kinds[column.type]
    return found
