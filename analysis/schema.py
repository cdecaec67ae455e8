"""The columns of a row, and the flags that keep a row from ranking (columns: measure/row.csv)."""

import re
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


@cache
def patterns() -> dict[str, tuple[re.Pattern, str]]:
    """Return column -> (pattern of its values, what it allows), without the columns of free text.

    Only an accuracy may be nan or inf: a kernel may return NaN.
    """
    number = r"-?[0-9]*\.?[0-9]+(e[+-]?[0-9]{1,2})?"
    kinds = {
        "int": (r"-?[0-9]+", "a whole number"),
        "float": (number, "a finite number"),
        "bool": ("true|false", "true or false"),
    }
    by_column = dict.fromkeys(("ranked", "stale"), kinds["bool"])
    for name, column in SCHEMA.items():
        if column.allowed:
            word = f"({'|'.join(column.allowed)})"
            pattern = f"{word}( {word})*" if name == "flags" else word
            by_column[name] = (pattern, f"one of {', '.join(column.allowed)}")
        elif column.group == "accuracy":
            by_column[name] = (f"{number}|nan|-?inf", "a number")
        elif column.type in kinds:
            by_column[name] = kinds[column.type]
    return {name: (re.compile(text), allowed) for name, (text, allowed) in by_column.items()}
