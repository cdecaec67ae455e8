"""Reading row files strictly: one cell, a merged or collected file, or a recorded sweep."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from analysis import flags, schema
from analysis.errors import InputError


def read_rows(path: Path, leading: Sequence[str] = ()) -> list[list[str]]:
    """Rows of a CSV file as text, in the order of `leading` + the columns of a row.

    The values are checked against row.csv but not converted, so that what is written on later is
    digit for digit what was read. Raises InputError, naming file and column or line, when the
    file is missing or empty, its header differs, a line is truncated, or a value is not allowed.
    """
    text = _text(path)
    expected = (*leading, *schema.header())
    lines = _lines(path, text)
    _check_header(path, lines[0], expected)
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(expected):
            raise InputError(
                f"{path}: line {number} has {len(line)} values, the header {len(expected)}: "
                f"a truncated line; {_REMEDY}"
            )
        _check_values(path, number, dict(zip(expected, line, strict=True)))
    # A file cut inside its last value has the right number of values but no line end.
    if not text.endswith("\n"):
        raise InputError(f"{path}: the last line has no line end: a truncated line; {_REMEDY}")
    return lines[1:]


def is_collected(path: Path) -> bool:
    """Whether a file says which of its rows rank, as results/measurements.csv does.

    Raises InputError when the file is missing, empty or not CSV.
    """
    return "ranked" in _lines(path, _text(path))[0]


def read_collected(path: Path) -> list[list[str]]:
    """Rows of results/measurements.csv, in the order of schema.COLLECTED + the columns of a row.

    A merged file will do, too: its rows rank as by default (flags.UNRANKED). Checked, and raises
    InputError, as `read_rows`.
    """
    if is_collected(path):
        return read_rows(path, schema.COLLECTED)
    found = read_rows(path, schema.LEADING)
    return [[sweep, origin, *with_ranked(row)] for sweep, origin, *row in found]


def with_ranked(row: Sequence[str]) -> list[str]:
    """Return a row after its `ranked`, as by default, and its `stale`, which is false."""
    return [flags.ranked(row[schema.header().index("flags")], flags.UNRANKED), "false", *row]


def read_cell(path: Path) -> list[str]:
    """The one row of a cell, checked as by `read_rows`.

    Raises InputError also when there is not exactly one row, or when the file lies in a tree
    cells/{gpu}/{op}/{dtype}/{distribution}/M{M}/N{N}/{variant}.csv and its row is another point.
    """
    rows = read_rows(path)
    if len(rows) != 1:
        raise InputError(f"{path}: {len(rows)} rows, a cell has exactly one; {_REMEDY}")
    (row,) = rows
    parts = Path(path).parts[-8:]
    if len(parts) == 8 and parts[0] == "cells":
        _, gpu, op, dtype, distribution, m, n, file = parts
        said = dict(zip(schema.header(), row, strict=True))
        placed = (gpu, op, dtype, distribution, m, n, file.removesuffix(".csv"))
        prefix = {"M": "M", "N": "N"}
        for name, value in zip(schema.POINT, placed, strict=True):
            if prefix.get(name, "") + said[name] != value:
                raise InputError(
                    f"{path}: its row says {name} = {said[name]}, its place says {value}; "
                    "a row belongs under its own identity, so delete the file and run again"
                )
    return row


def samples_path(cell: Path) -> Path:
    """Where the raw samples of a cell lie: beside it."""
    return Path(cell).with_suffix(".samples.csv.gz")


def check_samples(cell: Path) -> None:
    """Raise InputError when there is something in the place of a cell's raw samples, but broken."""
    path = samples_path(cell)
    if not path.exists():
        return
    try:
        text = gzip.decompress(path.read_bytes())  # to its end, where the checksum is
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not readable samples ({error}); {_REMEDY}") from error
    if not text.endswith(b"\n"):
        raise InputError(f"{path}: the last line has no line end: a truncated line; {_REMEDY}")


def cell_path(cells: Path, point: Sequence[object]) -> Path:
    """Where the cell of a point (in the order of schema.POINT) lies below the folder `cells`."""
    gpu, op, dtype, distribution, m, n, variant = map(str, point)
    return Path(cells, gpu, op, dtype, distribution, f"M{m}", f"N{n}", f"{variant}.csv")


def point_of(row: Sequence[str], names: Sequence[str]) -> tuple:
    """The identity of a row, M and N as integers, so that sorting by it goes by size."""
    where = {name: index for index, name in enumerate(names)}
    return tuple(
        int(row[where[name]]) if name in ("M", "N") else row[where[name]] for name in schema.POINT
    )


def refuse_duplicates(keyed: Iterable[tuple[tuple, Path]]) -> None:
    """Raise InputError when one key comes twice; `keyed` gives (key, the file it came from)."""
    seen: dict[tuple, Path] = {}
    for key, path in keyed:
        if key in seen:
            point = " ".join(str(part) for part in key)
            raise InputError(
                f"duplicate point ({point}) in {seen[key]} and {path}; keep one of the two rows"
            )
        seen[key] = path


def write_rows(target: Path, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write header and rows to `target`, which must be a temporary path (see atomic.replacing)."""
    with Path(target).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


_REMEDY = (
    "if this project wrote it, delete it and run again "
    "(a tracked file: restore it with git checkout)"
)


def _text(path: Path) -> str:
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; run the step that writes it first") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {_REMEDY}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not readable as UTF-8 text; {_REMEDY}") from error
    if not text.strip():
        raise InputError(f"{path}: empty, expected a header line; {_REMEDY}")
    return text


def _lines(path: Path, text: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise InputError(f"{path}: truncated or not CSV ({error}); {_REMEDY}") from error


def _check_header(path: Path, given: Sequence[str], expected: Sequence[str]) -> None:
    if tuple(given) == tuple(expected):
        return
    missing = [name for name in expected if name not in given]
    unknown = [name for name in given if name not in expected]
    if missing:
        fault = f"column {missing[0]} is missing"
    elif unknown:
        fault = f"column {unknown[0] or '(no name)'} is unknown"
    elif len(given) != len(expected):
        fault = f"column {next(n for n in given if given.count(n) > 1)} comes twice"
    else:
        at = next(i for i, name in enumerate(expected) if given[i] != name)
        fault = f"column {at + 1} is {given[at]}, expected {expected[at]}"
    raise InputError(
        f"{path}: wrong header: {fault}; the columns are those of workflow/schemas/row.csv; "
        f"{_REMEDY}"
    )


def _check_values(path: Path, number: int, row: dict[str, str]) -> None:
    for name in (*schema.POINT, "status"):
        if not row[name]:
            raise InputError(f"{path}: line {number}: {name} is empty; {_REMEDY}")
    if row["status"] not in schema.statuses():
        raise InputError(
            f"{path}: line {number}: unknown status {row['status']!r}; "
            f"allowed are {', '.join(schema.statuses())}"
        )
    for name in ("ranked", "stale"):
        if row.get(name, "true") not in ("true", "false"):
            raise InputError(
                f"{path}: line {number}: {name} is {row[name]!r}, expected true or false; {_REMEDY}"
            )
    for name, (parse, allowed) in schema.parsers().items():
        value = row[name]
        if value:
            try:
                parse(value)
            except ValueError as error:
                raise InputError(
                    f"{path}: line {number}: {name} is {value!r}, expected {allowed}; {_REMEDY}"
                ) from error
