"""Read rows of older schemas: one step for each version, from its columns to the next one's.

A change of measure/row.csv that older rows do not fit raises SCHEMA_VERSION in measure/row.py, and
adds a step here. Recorded tables stay as they were measured.
"""

from collections.abc import Callable, Sequence

from measure.row import SCHEMA_VERSION

Row = dict[str, str]


def without(*columns: str) -> Callable[[Row], Row]:
    """Return the step that drops columns."""
    return lambda row: {name: value for name, value in row.items() if name not in columns}


def with_values(**columns: str) -> Callable[[Row], Row]:
    """Return the step that adds columns, with the values that all older rows had."""
    return lambda row: row | columns


def renamed_flag(row: Row, old: str, new: str) -> Row:
    """Return a row with another name of a flag."""
    return {name: v.replace(old, new) if name == "flags" else v for name, v in row.items()}


# The first turns rows of version 1 into those of version 2, and so on.
STEPS: tuple[Callable[[Row], Row], ...] = (
    # Another project's kernel was timed inside a row; it became a variant with its own rows.
    without("rival", "rival_us", "rival_speedup", "rival_low", "rival_high"),
    # One process measured a point, and stopped when the interval was narrow, after 50 blocks.
    lambda row: without("stopped_by")(row) | {"blocks": "50", "replicate": "1", "order_seed": ""},
    with_values(copy_block_bytes=""),
    with_values(package_versions=""),
    with_values(meet_us="", meet_form="", of_meet=""),
    with_values(copy_form="", native_overrides="", switches=""),
    # A row lay under its identity alone, and its version was known by its columns.
    with_values(fingerprint="", timeout_s=""),
    # All baselines were functions of one variant, and the fastest roofline was a copy.
    lambda row: (
        renamed_flag(row, "faster_than_copy", "faster_than_roofline")
        | {"baseline": "torch_softmax"}
    ),
    with_values(special_rows_right="", special_rows_wrong=""),
    # Only the variant's eager calls were timed, and torch's in separate rows.
    with_values(torch_latency_us="", eager_speedup="", eager_speedup_low="", eager_speedup_high=""),
)
# Tables before version 8 do not state their version: the newest of these columns shows it.
COLUMN_NEW_IN_VERSION = {7: "switches", 6: "meet_us", 5: "package_versions", 4: "copy_block_bytes"}
COLUMN_NEW_IN_VERSION |= {3: "replicate"}


def version_of(columns: Sequence[str], first: Row) -> int:
    """Return the schema version of a table with these columns, and this first row.

    Raises ValueError, which says what is wrong, for a version that this code cannot read.
    """
    if "schema_version" not in columns:
        shown = (version for version, name in COLUMN_NEW_IN_VERSION.items() if name in columns)
        return next(shown, 1 if "rival" in columns else 2)
    stated = first.get("schema_version", str(SCHEMA_VERSION))
    if not (stated.isascii() and stated.isdecimal()) or not 1 <= int(stated) <= SCHEMA_VERSION:
        raise ValueError(
            f"schema_version is {stated!r}, and this code reads 1 to {SCHEMA_VERSION}; update the "
            "project if a newer one wrote the file"
        )
    return int(stated)


def upgraded(row: Row, version: int) -> Row:
    """Return a row of an older version with the columns and values of the current one."""
    for step in STEPS[version - 1 :]:
        row = step(row)
    return row | {"schema_version": str(SCHEMA_VERSION)}
