"""The columns of a row, and the flags that keep a row from ranking (columns: measure/row.csv)."""

import math
from collections.abc import Callable, Collection
from functools import cache

from kernels import DTYPES as ITEMSIZE  # noqa: F401  torch's name of a dtype -> bytes of an element
from measure.row import COLUMNS, IDENTITY, MATRIX, POINT, SCHEMA  # noqa: F401

# torch's own function, timed in every point.
BASELINE = "torch_softmax"

# Merging writes these columns before those of a row. The origin is `measured` by this run, or
# `recorded` (data/recorded/).
SOURCE_COLUMNS = ("sweep", "origin")
# What the variants of one matrix share, in merged rows.
SWEEP_MATRIX = [*SOURCE_COLUMNS, *MATRIX]

# Collecting adds whether the row ranks (`true` or `false`), what excludes it from the ranking, and
# whether other code than the current one measured it.
RANKING_COLUMNS = ("ranked", "unranked_by", "stale")
COLLECTED = (*SOURCE_COLUMNS, *RANKING_COLUMNS)

# Columns that rows measured before 2026-11-25 lack. They are read as empty.
LATER = ("meet_us", "meet_form", "of_meet")

# Versions that only the rows of some variants have, and all versions.
OPTIONAL = ("cuda_core", "nvrtc", "package_versions")
VERSIONS = ("driver", "cuda", "torch", "triton", *OPTIONAL)

FLAGS = SCHEMA["flags"].allowed
# The flags that exclude a row from the ranking by default, as in config.yaml. Beyond L2 no kernel
# moves bytes faster than a copy, so such a time is an error of measurement.
UNRANKED = ("faster_than_copy",)
# Reasons in `unranked_by` that are no flags of a row, because they follow from its matrix.
OTHER_BOARD, NO_SPEEDUP = "other_board", "no_speedup"


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
    """Return column -> (parser, what it allows), without the columns of free text.

    A parser raises ValueError. Only an accuracy may be nan or inf: a kernel may return NaN.
    """
    kinds = {
        "int": (int, "a whole number"),
        "float": (_float, "a finite number"),
        "bool": (_some_of(("true", "false")), "true or false"),
    }
    by_column = dict.fromkeys(("ranked", "stale"), kinds["bool"])
    for name, column in SCHEMA.items():
        if column.allowed:
            parse = _some_of(column.allowed, many=name == "flags")
            by_column[name] = (parse, f"one of {', '.join(column.allowed)}")
        elif column.group == "accuracy":
            by_column[name] = (float, "a number")
        elif column.type in kinds:
            by_column[name] = kinds[column.type]
    return by_column
