"""The columns of a row, and the flags that keep a row from ranking (columns: measure/row.csv)."""

from kernels import DTYPES as ITEMSIZE  # noqa: F401  torch's name of a dtype -> bytes of an element
from measure.row import COLUMNS, IDENTITY, MATRIX, POINT, SCHEMA, Column  # noqa: F401

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
# The reason in `unranked_by` that is no flag of a row, because it follows from its matrix.
OTHER_BOARD = "other_board"
# How the numbers of a variant's processes become one, by the group of a column. An error is the
# largest that any process saw: further replicates check three rows, so a median would hide what
# the first one found.
OVER_PROCESSES = {
    column.name: "max" if column.group == "accuracy" else "median"
    for column in SCHEMA.values()
    if column.type == "float"
}
# What a process that ends `ok` has timed: its variant, beside torch and a copy.
TIMED = ("time_us", "torch_us", "copy_us", "speedup", "speedup_low", "speedup_high", "of_copy")

_FINITE = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_KINDS = {
    "int": (r"[+-]?\d+", "a whole number"),
    "float": (_FINITE, "a finite number"),
    "bool": ("true|false", "true or false"),
}


def _values(column: Column) -> tuple[str, str] | None:
    if words := "|".join(column.allowed):
        pattern = f"({words})( ({words}))*" if column.name == "flags" else words
        return pattern, f"one of {', '.join(column.allowed)}"
    if column.group == "accuracy":  # a kernel may return NaN
        return f"{_FINITE}|[+-]?inf|nan", "a number"
    return _KINDS.get(column.type)


# Column -> the pattern of its values, and what it allows; columns of free text are not in it.
VALUES = {name: values for name, column in SCHEMA.items() if (values := _values(column))}
VALUES |= dict.fromkeys(("ranked", "stale"), _KINDS["bool"])
