"""Read and write files of rows: of a single row, merged, collected or recorded.

They use csv and not pandas: a merge reads up to 10,000 files of one row.
"""

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from analysis import InputError, schema, versions
from measure import row
from measure.row import MAX_ELEMENTS, PATH, samples_path

Row = dict[str, str]
_NO_LINE_END = "the last line has no line end: a truncated line"


def read_rows(path: Path, leading: Sequence[str] | None = ()) -> list[Row]:
    """Return the rows of a CSV file with the columns `leading` + schema.COLUMNS, as text.

    `leading` of None stands for those of a recorded, merged or collected table, by its header.
    Rows of an older schema get the columns of the current one. Values are checked and stay text, so
    that a later file has the same digits. Raises InputError, naming file and column or line, for a
    file that is missing, truncated, or of no schema that is known.
    """
    text = _text(path)
    try:
        header, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    except csv.Error as error:
        raise _broken(path, f"truncated or not CSV ({error})") from error
    if leading is None:
        kinds = {"ranked": schema.COLLECTED, "sweep": schema.SOURCE_COLUMNS}
        leading = next((kinds[name] for name in kinds if name in header), ())
    expected = (*leading, *schema.COLUMNS)
    version, rows = _version(path, header, lines, expected), []
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            counts = f"line {number} has {len(line)} values, the header {len(header)}"
            raise _broken(path, f"{counts}: a truncated line")
        values = versions.upgraded(dict(zip(header, line, strict=True)), version)
        rows.append({name: values[name] for name in expected})
        check_values(path, number, rows[-1])
        _check_complete(path, number, rows[-1])
    # A file cut inside its last value has the right number of values but no line end.
    if not text.endswith("\n"):
        raise _broken(path, _NO_LINE_END)
    return rows


def _version(
    path: Path, header: Sequence[str], lines: Sequence[Sequence[str]], expected: Sequence[str]
) -> int:
    """Return the schema version of a table; its rows become rows with the columns `expected`.

    Raises InputError for a version or a column that this code does not know.
    """
    whole = lines and len(lines[0]) == len(header)
    first = dict(zip(header, lines[0], strict=True)) if whole else {}
    try:
        version = versions.version_of(header, first)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    columns = versions.upgraded(dict.fromkeys(header, ""), version)
    faults = [
        *(f"column {name} is missing" for name in expected if name not in columns),
        *(f"column {name or '(no name)'} is unknown" for name in columns if name not in expected),
        *(f"column {name} comes twice" for name, count in Counter(header).items() if count > 1),
    ]
    if faults:
        raise _broken(path, f"wrong header: {faults[0]}; the columns are those of measure/row.csv")
    return version


def read_row_file(path: Path) -> Row:
    """Return the row of a file that has a single row, checked as by `read_rows`.

    Raises InputError also for a file below a folder `rows` whose path is not that of its row.
    """
    rows = read_rows(path)
    if len(rows) != 1:
        raise _broken(path, f"{len(rows)} rows, expected one")
    (row,) = rows
    depth = len(Path(PATH).parts)
    if path.parts[-depth - 1 : -depth] == ("rows",):
        expected = row_path(Path(), row)
        if Path(*path.parts[-depth:]) != expected:
            raise InputError(
                f"{path}: its row belongs at {expected}; "
                "a row lies under its own identity, so delete the file and run again"
            )
    return row


def check_samples(row_file: Path) -> None:
    """Raise InputError when a row has raw samples and their file is broken."""
    path = samples_path(row_file)
    if not path.exists():
        return
    try:
        text = gzip.decompress(path.read_bytes())  # to its end, where the checksum is
    except (OSError, EOFError, zlib.error) as error:
        raise _broken(path, f"not readable samples ({error})") from error
    if not text.endswith(b"\n"):
        raise _broken(path, _NO_LINE_END)


def row_path(folder: Path, row: Row) -> Path:
    """Return the path of the file of a row below `folder`; old rows have no fingerprint."""
    path = PATH if row["fingerprint"] else PATH.replace(".{fingerprint}", "")
    return folder / path.format(**row)


def identity_of(row: Row) -> tuple:
    """Return the identity of a row, numbers as integers, so that rows sort by size."""
    return tuple(
        int(row[name]) if schema.SCHEMA[name].type == "int" else row[name]
        for name in schema.IDENTITY
    )


def refuse_duplicates(keyed: Iterable[tuple[tuple, Path]]) -> None:
    """Raise InputError when one key comes twice; `keyed` gives (key, the file of its row)."""
    seen: dict[tuple, Path] = {}
    for key, path in keyed:
        if key in seen:
            point = " ".join(str(part) for part in key)
            raise InputError(
                f"duplicate row ({point}) in {seen[key]} and {path}; keep one of the two rows"
            )
        seen[key] = path


def csv_text(names: Sequence[str], rows: Iterable[Row]) -> str:
    """Return the columns `names` of rows as CSV."""
    return row.csv_text(names, ([values[name] for name in names] for values in rows))


def write(target: Path, content: str | bytes) -> None:
    """Write `content` to `target` completely, or leave `target` as it was.

    Raises InputError when the folder cannot be made or written.
    """
    make_folder(target.parent)
    try:
        if isinstance(content, str):
            # An argument whose bytes are not UTF-8, such as a path, has lone surrogates.
            content = content.encode("utf-8", "backslashreplace")
        row.write_atomically(target, content)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}; give another output") from error


def make_folder(folder: Path) -> None:
    """Make a folder, unless it is there. Raises InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = f"cannot write into {folder}: {error.strerror}"
        raise InputError(f"{fault}; give another output") from error


def _broken(path: Path, fault: str) -> InputError:
    remedy = "delete it and run again (a tracked file: restore it with git checkout)"
    return InputError(f"{path}: {fault}; if this project wrote it, {remedy}")


def _text(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")  # spreadsheets begin a file with a mark
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; run the step that writes it first") from error
    except OSError as error:
        raise _broken(path, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise _broken(path, "not readable as UTF-8 text") from error
    if not text.strip():
        raise _broken(path, "empty, expected a header line")
    return text


def check_values(path: Path, number: int, row: Row) -> None:
    """Raise InputError for a value of a line of a file that its column does not allow."""
    for name, (pattern, allowed) in schema.VALUES.items():
        if (value := row.get(name)) and not re.fullmatch(pattern, value):
            raise _broken(path, f"line {number}: {name} is {value!r}, expected {allowed}")
    for name, (lowest, highest) in schema.BOUNDS.items():
        if (value := row.get(name)) and not lowest <= float(value) <= highest:
            limits = f"a number from {lowest:g} to {highest:g}"
            raise _broken(path, f"line {number}: {name} is {value!r}, expected {limits}")
    if (elements := int(row["M"] or 0) * int(row["N"] or 0)) > MAX_ELEMENTS:
        fault = f"M·N is {elements}, more than {MAX_ELEMENTS}"
        raise _broken(path, f"line {number}: {fault}")


def _check_complete(path: Path, number: int, row: Row) -> None:
    timed = schema.TIMED if row["status"] == "ok" else ()
    for name in (*schema.IDENTITY, "status", "ranked", "stale", *timed):
        if row.get(name) == "":
            raise _broken(path, f"line {number}: {name} is empty")
