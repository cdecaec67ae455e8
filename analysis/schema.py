"""The columns of a row, the values that they may have, and the flags that keep a row from ranking.

measure/row.csv defines the columns, measure.row reads it.
"""

import math
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path

import yaml

from kernels import DTYPES as ITEMSIZE  # torch's name of a dtype -> bytes of an element
from measure.row import COLUMNS, POINT, SCHEMA

# The columns before those of a row: merging writes the name of the sweep, and the origin of the
# row: `measured` by this run, or `recorded` (data/recorded/).
LEADING = ("sweep", "origin")

# Collecting adds whether the row ranks (`true` or `false`), which flags exclude it from that, and
# whether other code than the current one measured it: results/measurements.csv.
RANKING = ("ranked", "unranked_by", "stale")
COLLECTED = (*LEADING, *RANKING)

# Versions that only the rows of some variants have.
OPTIONAL = ("cuda_core", "nvrtc")

# The flags that exclude a row from the ranking by default, as in config.yaml. Beyond L2 nothing
# moves bytes faster than a copy: such a time is an error of the measurement.
UNRANKED = ("faster_than_copy",)

_CONFIG_SCHEMA = Path(__file__).resolve().parents[1] / "workflow/schemas/config.schema.yaml"

__all__ = ["COLUMNS", "ITEMSIZE", "POINT", "SCHEMA", "flags", "parsers"]


@cache
def flags() -> tuple[str, ...]:
    """Return every flag that a row may carry; the schema of the configuration lists them."""
    schema = yaml.safe_load(_CONFIG_SCHEMA.read_text(encoding="utf-8"))
    return tuple(schema["properties"]["unranked_flags"]["items"]["enum"])


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _one_of(allowed: Collection[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
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
        "bool": (_one_of(("true", "false")), "true or false"),
    }
    found = dict.fromkeys(("ranked", "stale"), kinds["bool"])
    for column in SCHEMA.values():
        if column.allowed:
            found[column.name] = (_one_of(column.allowed), f"one of {', '.join(column.allowed)}")
        elif column.group == "accuracy":
            found[column.name] = (float, "a number")
        elif column.type in kinds:
            found[column.name] = kinds[column.type]
    return found
