"""Read a run that is compared: a folder of rows, or a table."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis import InputError, row_files, schema
from analysis.eligibility import mark_ranked, rank_newest_code
from analysis.frame import from_rows

# A folder may hold rows with several values of these columns; a run uses the newest.
SUPERSEDED_BY = ("seed", "blocks", "fingerprint")
ROW_FOLDER = re.compile(r"M\d+_N\d+")  # the folder in which a row file lies
EXPECTED = "a folder of row files (results/rows), or one table of rows (results/measurements.csv, "
EXPECTED += "data/recorded/h200/frontier.csv)"


def load_run(path: Path) -> pd.DataFrame:
    """Return the rows of a folder of row files, of measurements.csv, or of a recorded table.

    Of measurements.csv only the measured rows count, because two runs share the recorded ones.
    eligibility.mark_ranked decides anew which rows rank, so that both runs follow one rule. Of a
    variant the rows of its newest code rank, as after a run that was interrupted.
    Raises InputError, naming the file, when there is nothing to read, a file is broken, or a row
    comes twice.
    """
    if not os.path.exists(path):  # Path.exists raises for a name that is too long
        raise InputError(f"{path}: no such file or folder; give {EXPECTED}")
    if path.is_dir():
        files = sorted(path.rglob("*.csv"))
        for file in files:
            if not ROW_FOLDER.fullmatch(file.absolute().parent.name):
                raise InputError(f"{file}: not the file of a single row; give {EXPECTED}")
        entries = [(row_files.read_row_file(file), file) for file in files]
    else:
        table = row_files.read_rows(path, None)
        entries = [(row, path) for row in table if row.get("origin") != "recorded"]
    if not entries:
        raise InputError(f"{path}: no rows that were measured; give {EXPECTED}")
    # Several sweeps of a table may list one row.
    keyed = (
        (row.get("sweep", ""), *row_files.identity_of(row), row["fingerprint"])
        for row, _ in entries
    )
    row_files.refuse_duplicates(zip(keyed, (file for _, file in entries), strict=True))
    # Both runs get one name of the sweep: together their controls give the spread of a board.
    run = [row | dict.fromkeys(schema.SOURCE_COLUMNS, "") for row in _newest_rows(entries)]
    table = mark_ranked(run)
    return from_rows(rank_newest_code(table, ["gpu", "op", "variant"], ["kernel_sha256"]))


def _newest_rows(entries: list[tuple[row_files.Row, Path]]) -> list[row_files.Row]:
    """Return the rows of each point with its newest SUPERSEDED_BY values, each replicate once."""
    newest, rows = {}, {}
    for row, _ in sorted(entries, key=lambda entry: entry[0]["started_at"]):
        newest[_fields(row, schema.POINT)] = _fields(row, SUPERSEDED_BY)
        rows[row_files.identity_of(row)] = row
    return [
        row
        for row in rows.values()
        if newest[_fields(row, schema.POINT)] == _fields(row, SUPERSEDED_BY)
    ]


def _fields(row: row_files.Row, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(row[name] for name in names)
