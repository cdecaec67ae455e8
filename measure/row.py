"""Read the schema of a row; write the row and the samples of a point atomically."""

import csv
import errno
import glob
import gzip
import io
import os
import re
from pathlib import Path
from typing import NamedTuple

_SCHEMA_FILE = Path(__file__).with_name("row.csv")


class Column(NamedTuple):
    """Describe a column. ``type`` is str, int, float or bool; () in ``allowed`` allows any value.

    The column ``flags`` holds any number of its allowed words, separated by blanks.
    """

    name: str
    group: str
    type: str
    unit: str
    allowed: tuple[str, ...]
    meaning: str


def _schema() -> dict[str, Column]:
    with _SCHEMA_FILE.open(newline="", encoding="utf-8") as file:
        _, *lines = csv.reader(file)
    return {
        name: Column(name, group, kind, unit, tuple(allowed.split()), meaning)
        for name, group, kind, unit, allowed, meaning in lines
    }


SCHEMA = _schema()
COLUMNS = tuple(SCHEMA)
# Version of the columns and of the meaning of their values; analysis/versions.py reads older ones.
SCHEMA_VERSION = 11

MATRIX = ("gpu", "op", "dtype", "distribution", "M", "N")  # measured on one board
POINT = (*MATRIX, "variant")  # identifies a point
IDENTITY = (*POINT, "seed", "blocks", "replicate")  # identifies a row
# Path of a row, relative to the folder of all rows.
PATH = "{gpu}/{op}/{dtype}/{distribution}/seed{seed}_blocks{blocks}/M{M}_N{N}/"
PATH += "{variant}.{fingerprint}.{replicate}.csv"

# Beginning of the message of a row with the flag edge_cases; the values and the problem follow.
WRONG_ON = "wrong on special values: "

MAX_ELEMENTS = 2**59  # the bytes of three such matrices fit in 64 bits

SAMPLE_COLUMNS = ("block", "order", "series", "time_us")
_MESSAGE_LENGTH = 500  # a compiler's message can be pages; the log has the rest


def one_line(text: object) -> str:
    """Return any text as one line of at most 500 characters, fit for ``message``."""
    # UTF-8 cannot encode a lone surrogate, which a file name may contain
    line = " ".join(str(text).encode("utf-8", "backslashreplace").decode().split())
    line = re.sub(r"[\x00-\x1f\x7f]", "?", line)  # such as the colours of a compiler's message
    return line if len(line) <= _MESSAGE_LENGTH else line[: _MESSAGE_LENGTH - 1] + "…"


def samples_path(row_path: Path) -> Path:
    """Return the path of the raw samples, beside that of the row."""
    return row_path.with_suffix(".samples.csv.gz")


def write_row(path: Path, row: dict, samples: list[tuple]) -> None:
    """Write the samples, then the row, each atomically.

    ``samples`` are tuples (block, order, series, time_us) in time order. Raises ValueError for a
    column or a value that the schema does not allow, and OSError.
    """
    unknown = set(row) - set(COLUMNS)
    if unknown:
        raise ValueError(f"not columns of a row: {sorted(unknown)}")
    for name, value in row.items():
        allowed = SCHEMA[name].allowed
        words = [] if value is None else value.split() if name == "flags" else [value]
        if allowed and not set(words) <= set(allowed):
            raise ValueError(f"not a value of {name}: {value!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    rounded = ((*place, round(time_us, 6)) for *place, time_us in samples)
    text = csv_text(SAMPLE_COLUMNS, rounded)
    if not is_written_through(path):
        # mtime=0: the same samples give the same file
        write_atomically(samples_path(path), gzip.compress(text.encode(), mtime=0))
    line = [_cell(column, row.get(column)) for column in COLUMNS]
    write_atomically(path, csv_text(COLUMNS, [line]).encode())


def read_row(path: Path) -> dict:
    """Read a row from a file. Raises OSError, and ValueError if it is not a row."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = list(csv.DictReader(file))
    if len(lines) != 1 or tuple(lines[0]) != COLUMNS:
        raise ValueError(f"{path} is not a row of this version")
    parse = {"int": int, "float": float, "bool": lambda text: text == "true", "str": str}
    return {k: parse[SCHEMA[k].type](v) if v else None for k, v in lines[0].items()}


def csv_text(header, lines) -> str:
    """Return lines of values as CSV; every line ends with a line feed only."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return buffer.getvalue()


def _cell(column: str, value) -> str:
    if value is None:
        return ""
    to_text = {"float": "{:.9g}".format, "int": int, "bool": lambda x: "true" if x else "false"}
    return str(to_text.get(SCHEMA[column].type, one_line)(value))


def is_written_through(path: Path) -> bool:
    """Return whether a path is a device or a pipe, which is not replaced and gets no samples."""
    # Links are not resolved, because /dev/stdout may link to a pipe by a name that does not exist.
    return path.exists() and not path.is_file()


def check_writable(path: Path) -> None:
    """Raise OSError if ``write_row`` could not write there, for example if the name is too long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(0, f"it is a folder; name a file, as {path}/row.csv")
    if not is_written_through(path):
        for target in (path, samples_path(path)):
            if target.is_dir():
                raise IsADirectoryError(0, f"{target} is a folder")
            temporary = _temporary(_replaced_file(target))
            temporary.touch()
            temporary.unlink()


def _replaced_file(path: Path) -> Path:
    """Return the file to which a path leads through links. Raises OSError for a ring of links."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def write_atomically(path: Path, content: bytes) -> None:
    """Write ``content`` to a file atomically: the file is complete, or as it was before.

    A link stays a link, to the file that is replaced. A device or a pipe is written through.
    """
    if is_written_through(path):
        path.write_bytes(content)
        return
    path = _replaced_file(path)
    # remove what jobs have left that were killed while they wrote this file
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        leftover.unlink(missing_ok=True)
    temporary = _temporary(path)
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
