"""Writing the row and the samples of a point: whole, or not at all."""

import contextlib
import csv
import glob
import gzip
import io
import os
from pathlib import Path

from .fingerprint import ROW_SCHEMA

with ROW_SCHEMA.open(newline="") as _file:
    TYPES = {line["column"]: line["type"] for line in csv.DictReader(_file)}
COLUMNS = tuple(TYPES)

STATUSES = (
    "ok",
    "interpreted",
    "incorrect",
    "unsupported",
    "unavailable",
    "compile_error",
    "out_of_memory",
    "crash",
    "timeout",
)

SAMPLE_COLUMNS = ("block", "order", "series", "time_us")
_MESSAGE_LENGTH = 500  # a compiler's message can be pages; the log has the rest


def one_line(text: object) -> str:
    """Any text as one line of at most 500 characters, fit for ``message``."""
    # a lone surrogate, from a file name say, has no place in UTF-8
    line = " ".join(str(text).encode("utf-8", "backslashreplace").decode().split())
    return line if len(line) <= _MESSAGE_LENGTH else line[: _MESSAGE_LENGTH - 1] + "…"


def samples_path(row_path: Path) -> Path:
    """Where the raw samples lie: beside the row."""
    return row_path.with_name(row_path.stem + ".samples.csv.gz")


def write(path: Path, row: dict, samples: list[tuple]) -> None:
    """Write the samples, then the row; each appears under its name only when it is complete.

    ``samples``: tuples (block, order, series, time_us) in time order. Raises ValueError for a
    column that the schema does not have or a status that does not exist.
    """
    unknown = set(row) - set(COLUMNS)
    if unknown:
        raise ValueError(f"not columns of a row: {sorted(unknown)}")
    if row["status"] not in STATUSES:
        raise ValueError(f"not a status: {row['status']!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _csv_text(SAMPLE_COLUMNS, samples)
    # mtime=0: the same samples give the same file
    _replace(samples_path(path), gzip.compress(text.encode(), mtime=0))
    line = [_cell(column, row.get(column)) for column in COLUMNS]
    _replace(path, _csv_text(COLUMNS, [line]).encode())


def _csv_text(header, lines) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return buffer.getvalue()


def _cell(column: str, value) -> str:
    if value is None:
        return ""
    kind = TYPES[column]
    if kind == "float":
        return f"{float(value):.9g}"
    if kind == "int":
        return str(int(value))
    if kind == "bool":
        return "true" if value else "false"
    return one_line(value)


def _replace(path: Path, content: bytes) -> None:
    # Of jobs that were killed while they wrote this file: nobody else would remove it.
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        left.unlink(missing_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Let the names in a folder outlive a power cut, where its file system can do that."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # some network file systems refuse
            os.fsync(fd)
    finally:
        os.close(fd)
