"""Collected rows as a pandas frame: their types, which of them rank, and their marks."""

import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from analysis import row_files, schema
from analysis.markdown import span


def load(path: Path) -> pd.DataFrame:
    """Return a collected file, results/measurements.csv, as a typed frame.

    Text and booleans are str, "" where empty; M and N are int64; other numbers are float64, NaN
    where empty.
    """
    return from_rows(row_files.read_rows(path, schema.COLLECTED))


def from_rows(collected: list[row_files.Row] | pd.DataFrame) -> pd.DataFrame:
    """Return rows of text as a frame with the types that `load` describes.

    The column `process` is equal in the rows of one process, which several sweeps may list.
    """
    names = [*schema.COLLECTED, *schema.COLUMNS]
    frame = pd.DataFrame(collected, columns=names, dtype="str")
    measured = frame[["origin", *schema.COLUMNS]]
    frame["process"] = pd.util.hash_pandas_object(measured, index=False).map("{:016x}".format)
    for column in schema.SCHEMA.values():
        if column.type in ("int", "float"):
            kind = "int64" if column.name in ("M", "N") else "float64"
            text = frame[column.name]
            frame[column.name] = text.where(text != "", None).astype(kind)
    # The status excludes a row that is not ok, so its flags are no reason.
    frame["unranked_by"] = frame["unranked_by"].where(frame["status"] == "ok", "")
    return frame


def write(output: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV for people, NaN as an empty value.

    A text that a spreadsheet would take for a formula gets an apostrophe in front. Rows themselves
    (results/measurements.csv and what it is made of) keep every text as it was measured.
    """
    table = table.apply(_without_formulas)
    row_files.write(output, table.to_csv(index=False, lineterminator="\n"))


def _without_formulas(values: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return values
    formula = values.astype("str").str.match(r"[=+\-@\t\r](?!\d*\.?\d+(e[+-]?\d+)?$)")
    return values.mask(formula, "'" + values.astype("str"))


def is_ranked(frame: pd.DataFrame, any_board: bool = False) -> pd.Series:
    """Return the mask of the rows that rank: status `ok`, and no excluding flag.

    `any_board`: rows that only their board excludes (schema.OTHER_BOARD) count, too.
    """
    ranked = frame["ranked"] == "true"
    if any_board:
        ranked |= frame["unranked_by"] == schema.OTHER_BOARD
    return (frame["status"] == "ok") & ranked


def is_baseline(frame: pd.DataFrame) -> pd.Series:
    """Return the mask of the rows of torch's own functions, which are timed in every point."""
    return frame["variant"] == frame["baseline"]


def once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with each process once, though several sweeps may list it."""
    return frame.drop_duplicates("process")


def outcomes(frame: pd.DataFrame) -> pd.Series:
    """Return each row's status, or `not ranked (…)` with the reasons."""
    words = "not ranked (" + frame["unranked_by"].str.replace(" ", ", ") + ")"
    return frame["status"].where(frame["unranked_by"] == "", words)


def roofline_share(rows: pd.DataFrame) -> pd.Series:
    """Return the share of the nearest roofline: of few long rows, that of blocks which meet."""
    return rows["of_meet"].fillna(rows["of_copy"])


# Names of flags and statuses in short, where they are more than their words.
_SHORT = {"overlaps_calls": "calls overlap", "edge_cases": "wrong on special values"}
_SHORT |= {"aa_biased": "torch off against itself", "clock_drift": "clock drifted"}


def in_words(text: str) -> str:
    """Return a text with the flags and statuses in it in short words."""
    return re.sub(r"\w+_\w+", lambda name: _SHORT.get(name[0], name[0].replace("_", " ")), text)


def mark(flags: str) -> str:
    """Return the marks of a row's flags, which follow its numbers."""
    return "".join(sorted({schema.MARK_OF.get(flag, "") for flag in flags.split()}))


def legend(flags: Iterable[str]) -> list[str]:
    """Return a line for each mark that rows with these flags have."""
    present = set("".join(map(mark, set(flags))))
    return [f"{sign} {schema.MARKS[sign]}" for sign in sorted(present)]


def distinct(values: pd.Series) -> list[str]:
    """Return the different values that are not empty, sorted."""
    return sorted(set(values) - {""})


def days(rows: pd.DataFrame) -> str:
    """Return the first and the last day of rows: `2026-11-22 to 2026-11-23`, or the only one."""
    dates = distinct(rows["started_at"].str[:10])
    return span(dates, separator=" to ") if dates else ""


def different_words(texts: pd.Series) -> str:
    """Return the words of all texts, each once, sorted."""
    return " ".join(sorted(set(" ".join(texts).split())))
