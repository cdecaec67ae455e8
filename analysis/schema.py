"""What columns, flags and statuses of a row mean for the ranking (columns: measure/row.csv)."""

from typing import NamedTuple

from kernels import DTYPES as ITEMSIZE  # noqa: F401  torch's name of a dtype -> bytes of an element
from measure.row import (  # noqa: F401
    COLUMNS,
    IDENTITY,
    MATRIX,
    MAX_ELEMENTS,
    POINT,
    SCHEMA,
    Column,
)

# Merging writes these columns before those of a row. The origin is `measured` by this run, or
# `recorded` (data/recorded/).
SOURCE_COLUMNS = ("sweep", "origin")
# Columns that the variants of one matrix share, in merged rows.
SWEEP_MATRIX = [*SOURCE_COLUMNS, *MATRIX]

# Columns that the variants of one size share, over all sweeps and inputs.
CONTEST = ["origin", "gpu", "op", "dtype"]  # Their sizes are judged together.
SIZE = [*CONTEST, "M", "N"]

# Collecting adds whether the row ranks (`true` or `false`), what excludes it from the ranking, and
# whether other code than the current one measured it.
RANKING_COLUMNS = ("ranked", "unranked_by", "stale")
COLLECTED = (*SOURCE_COLUMNS, *RANKING_COLUMNS)

# Versions that only the rows of some variants have, and all versions.
OPTIONAL = ("cuda_core", "nvrtc", "package_versions")
VERSIONS = ("driver", "cuda", "torch", "triton", *OPTIONAL)

# Settings that change torch's own speed; rows before 2026-11-27 lack these columns.
BASELINE_STATE = ("native_overrides", "switches")

# A matrix is ranked in one environment, which is that of most of its rows, and a variant in it by
# the rows of its newest code. Boards of several names once shared a slug.
ENVIRONMENT = ("gpu_name", "driver", "cuda", "torch", "triton", *BASELINE_STATE, "measure_sha256")
CODE = (*OPTIONAL, "kernel_sha256")
# The reasons in `unranked_by` that are no flags of a row, because they follow from other rows.
OTHER_BOARD, OTHER_ENVIRONMENT, OTHER_CODE = "other_board", "other_environment", "other_code"


class Flag(NamedTuple):
    """Say what a flag means, whether rows with it rank, and the mark of their numbers.

    MARKS explains the marks. A flag without one says nothing against the numbers.
    """

    meaning: str
    ranks: bool
    mark: str


# The fate of every flag of measure/row.csv. The times of rows that do not rank are not what the
# times of other rows are.
FLAGS = {
    "aa_biased": Flag("torch against itself was off by more than 1 %", False, "¶"),
    "clock_drift": Flag("the clock moved by more than 3 %", True, "†"),
    "edge_cases": Flag("right on ordinary input, wrong on special values", True, "‡"),
    "faster_than_roofline": Flag(
        "more than 2 % faster than its roofline beyond L2: an error of measurement", False, "¶"
    ),
    "launch_bound": Flag("launch-bound: the launch takes longer than the kernel", True, ""),
    "noisy": Flag("noisy: the 95 % interval of the speed-up is wider than 10 %", True, "≈"),
    "not_cold": Flag("part of the input was still in the cache", True, "°"),
    "overlaps_calls": Flag("consecutive calls overlap: a throughput, not a latency", False, "¶"),
    "shared_gpu": Flag("another process used the GPU", True, "†"),
    "throttled": Flag("the driver reduced the clocks", True, "†"),
}
UNRANKED = tuple(name for name, flag in FLAGS.items() if not flag.ranks)
# Flags that analysis adds to a variant: a process ended with a TRANSIENT status; older code
# measured it.
FAILED_REPLICATE, STALE = "failed_replicate", "stale"
MARK_OF = {name: flag.mark for name, flag in FLAGS.items()}
MARK_OF |= {FAILED_REPLICATE: "§", STALE: "◊"}
MARKS = {
    "†": "the GPU was throttled or shared, or its clock drifted, while this was timed",
    "‡": FLAGS["edge_cases"].meaning,
    "§": "one replicate failed (out of memory, timeout or missing package) and does not count",
    "°": FLAGS["not_cold"].meaning,
    "≈": FLAGS["noisy"].meaning,
    "◊": "stale: measured with an older version of the code",
    "¶": "not ranked: torch against itself was off by more than 1 %, consecutive calls overlap, "
    "or it is more than 2 % faster than its roofline",
}

# Statuses, each more severe than those before it. A variant has the most severe of its processes:
# one wrong result outweighs any number of right ones, and says more than a crash.
SEVERITY = (
    *("ok", "interpreted"),
    *("unavailable", "out_of_memory", "timeout"),  # the machine lacked something
    *("unsupported", "compile_error", "crash"),  # the kernel cannot do it
    "incorrect",
)
# Statuses that other processes, or a package that is not installed yet, may have caused. They say
# nothing about a kernel that other processes have timed.
TRANSIENT = ("unavailable", "out_of_memory", "timeout")

# How the numbers of a variant's processes become one, by the group of a column. An error is the
# largest that any process saw: further replicates check three rows, so a median would hide what
# the first one found.
OVER_PROCESSES = {
    column.name: "max" if column.group == "accuracy" else "median"
    for column in SCHEMA.values()
    if column.type == "float"
}
# The interval of eager calls reaches over those of all processes: no control shows how much the
# host's time varies between processes.
OVER_PROCESSES |= {"eager_speedup_low": "min", "eager_speedup_high": "max"}
# Columns that a process fills if it ends `ok`: it has timed torch and the roofline, too.
TIMED = ("time_us", "torch_us", "copy_us", "speedup", "speedup_low", "speedup_high", "of_copy")

_FINITE = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_KINDS = {
    "int": (r"[+-]?[0-9]{1,20}", "a whole number"),
    "float": (_FINITE, "a finite number"),
    "bool": ("true|false", "true or false"),
    # A control character would make an SVG unreadable; a text of pages, a figure.
    "str": (r"[^\x00-\x1f\x7f]{0,1000}", "a line of at most 1000 printable letters"),
}


def _values(column: Column) -> tuple[str, str]:
    if words := "|".join(column.allowed):
        pattern = f"({words})( ({words}))*" if column.name == "flags" else words
        return pattern, f"one of {', '.join(column.allowed)}"
    if column.group == "accuracy":  # a kernel may return NaN
        return f"{_FINITE}|[+-]?inf|nan", "a number"
    return _KINDS[column.type]


# Names that paths of figures and tables carry.
_NAMES = {
    "op": (r"[a-z][a-z0-9_]{0,99}", "lower-case letters, digits and underscores, at most 100"),
    "sweep": (r"[a-z0-9_]{1,100}", "lower-case letters, digits and underscores, at most 100"),
    "gpu": (r"[a-z0-9_]{1,100}", "lower-case letters, digits and underscores, at most 100"),
    "variant": (r"[A-Za-z][A-Za-z0-9_]{0,120}", "letters, digits and underscores, at most 121"),
    "origin": ("measured|recorded", "measured or recorded"),
}
# Units of numbers whose ratios and logarithms are taken.
_POSITIVE_UNITS = ("us", "ratio", "GB/s")
_LEAST, _MOST = 1e-15, 1e15  # beyond all that can be measured, and products of them are finite


def _bounds(column: Column) -> tuple[float, float] | None:
    if column.name in ("M", "N", "blocks", "replicate"):
        return 1, MAX_ELEMENTS
    if column.type == "int":
        return -(2**63), 2**63 - 1
    if column.type == "float" and column.group != "accuracy":
        return _LEAST if column.unit in _POSITIVE_UNITS else -_MOST, _MOST
    return None


# Column -> its least and its largest number; those of accuracy have none.
BOUNDS = {name: bounds for name, column in SCHEMA.items() if (bounds := _bounds(column))}

# Column -> the pattern of its values, and what it allows. A message may be any text: it is the
# kernel's, and no figure has it.
VALUES = {name: _values(column) for name, column in SCHEMA.items() if name != "message"}
VALUES |= _NAMES | dict.fromkeys(("ranked", "stale"), _KINDS["bool"])
