"""Read and write files of rows: one cell, a merged or collected file, or a recorded sweep."""

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from analysis import schema
from analysis.errors import InputError
from measure.row import PATH, samples_path

_REMEDY = (
    "if this project wrote it, delete it and run again "
    "(a tracked file: restore it with git checkout)"
)


def read_rows(path: Path, leading: Sequence[str] = ()) -> list[list[str]]:
    """Return the rows of a CSV file as text, in the order of `leading` + schema.COLUMNS.

    The values are checked but not converted: what is written later has the same digits. Raises
    InputError, naming file and column or line, when the file is missing or empty, its header
    differs, a line is truncated, or a value is not allowed.
    """
    text = _text(path)
    expected = (*leading, *schema.COLUMNS)
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
    """Return whether a file states which of its rows rank, as results/measurements.csv does.

    Raises InputError when the file is missing, empty or not CSV.
    """
    return "ranked" in _lines(path, _text(path))[0]


def read_collected(path: Path) -> list[list[str]]:
    """Return the rows of results/measurements.csv, as schema.COLLECTED + schema.COLUMNS.

    Accepts a merged file, too: its rows rank by default (schema.UNRANKED). Checks as `read_rows`.
    """
    if is_collected(path):
        return read_rows(path, schema.COLLECTED)
    found = read_rows(path, schema.LEADING)
    return [[sweep, origin, *with_ranking(row)] for sweep, origin, *row in found]


def with_ranking(row: Sequence[str]) -> list[str]:
    """Return schema.RANKING by default, then the columns of a row that does not state it."""
    return [*schema.ranking(row[schema.COLUMNS.index("flags")]), "false", *row]


def read_cell(path: Path) -> list[str]:
    """Return the one row of a cell, checked as by `read_rows`.

    Raises InputError also when there is not exactly one row, or when the file lies in a folder
    `cells`, but not in the place of its row (see `cell_path`).
    """
    found = read_rows(path)
    if len(found) != 1:
        raise InputError(f"{path}: {len(found)} rows, a cell has exactly one; {_REMEDY}")
    (row,) = found
    depth = len(schema.POINT)
    if Path(path).parts[-depth - 1 : -depth] == ("cells",):
        given = Path(*Path(path).parts[-depth:])
        expected = cell_path(Path(), point_of(row, schema.COLUMNS))
        if given != expected:
            raise InputError(
                f"{path}: its row belongs at {expected}; "
                "a row lies under its own identity, so delete the file and run again"
            )
    return row


def check_samples(cell: Path) -> None:
    """Raise InputError when the raw samples of a cell exist, but are broken."""
    path = samples_path(Path(cell))
    if not path.exists():
        return
    try:
        text = gzip.decompress(path.read_bytes())  # to its end, where the checksum is
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not readable samples ({error}); {_REMEDY}") from error
    if not text.endswith(b"\n"):
        raise InputError(f"{path}: the last line has no line end: a truncated line; {_REMEDY}")


def cell_path(cells: Path, point: Sequence[object]) -> Path:
    """Return the path of the cell of a point (in the order of schema.POINT) below `cells`."""
    return cells / PATH.format(**dict(zip(schema.POINT, point, strict=True)))


def point_of(row: Sequence[str], names: Sequence[str]) -> tuple:
    """Return the identity of a row; M and N are integers, for rows to sort by size."""
    given = dict(zip(names, row, strict=True))
    return tuple(int(given[name]) if name in ("M", "N") else given[name] for name in schema.POINT)


def refuse_duplicates(keyed: Iterable[tuple[tuple, Path]]) -> None:
    """Raise InputError when one key comes twice; `keyed` gives (key, the file of its row)."""
    seen: dict[tuple, Path] = {}
    for key, path in keyed:
        if key in seen:
            point = " ".join(str(part) for part in key)
            raise InputError(
                f"duplicate point ({point}) in {seen[key]} and {path}; keep one of the two rows"
            )
        seen[key] = path


def write_rows(target: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write header and rows to `target`."""
    write(target, csv_text([names, *rows]))


def csv_text(lines: Iterable[Sequence[object]]) -> str:
    """Return the lines as CSV, with the line ends that all files of the project have."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def write(target: Path, content: str | bytes) -> None:
    """Write `content` to `target` completely, or leave `target` as it was.

    Raises InputError when the folder cannot be made or written.
    """
    target = Path(target)
    # In the same folder: os.replace is atomic only within one file system.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}; give another output") from error
    finally:
        with suppress(OSError):  # the folder may be what is missing
            temporary.unlink(missing_ok=True)


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
        f"{path}: wrong header: {fault}; the columns are those of measure/row.csv; {_REMEDY}"
    )


def _check_values(path: Path, number: int, row: dict[str, str]) -> None:
    for name, (parse, allowed) in schema.parsers().items():
        value = row.get(name, "")
        if value:
            try:
                parse(value)
            except ValueError as error:
                raise InputError(
                    f"{path}: line {number}: {name} is {value!r}, expected {allowed}; {_REMEDY}"
                ) from error
    for name in (*schema.POINT, "status", "ranked", "stale"):
        if row.get(name) == "":
            raise InputError(f"{path}: line {number}: {name} is empty; {_REMEDY}")
