"""Reading a run: its rows and, block by block, its raw samples."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import frame, rows, schema
from analysis.errors import InputError
from analysis.record import SAMPLE

POINT = list(schema.POINT)
NAMES = ["ranked", "stale", *schema.header()]
SUFFIX = ".samples.csv.gz"
VARIANT, TORCH, COPY = "variant", "torch", "copy"  # series of the samples


@dataclass(frozen=True)
class Run:
    """One run.

    `rows` has `ranked`, `stale`, `unranked_by` and the columns of a row, typed as by frame.load,
    and the point as its index; `samples` maps the point of every ok row to µs per call, one line
    a block, one column a series.
    """

    rows: pd.DataFrame
    samples: dict[tuple, pd.DataFrame]


def load(path: Path) -> Run:
    """Read a folder of cells, measurements.csv, or a recorded table.

    The samples lie beside the cells or the table. Of measurements.csv the measured rows count, not
    the recorded ones, which two runs have alike; their samples are in the folder `cells` beside it.
    It alone says which rows rank; others rank as by default (rows.with_ranked). Raises InputError,
    naming the file, when there is nothing to read, a file is not what it should be, a point comes
    twice, or the samples of an ok row are missing, broken or not its own.
    """
    path = Path(path)
    collected = path.is_file() and rows.is_collected(path)
    if path.is_dir():
        cells = sorted(path.rglob("*.csv"))
        if not cells:
            raise InputError(f"{path}: no cells in this folder; give results/cells of a run")
        found = [(rows.with_ranked(rows.read_cell(cell)), cell) for cell in cells]
    elif collected:
        found = _measured(path)
    else:
        found = [(rows.with_ranked(row), path) for row in rows.read_rows(path)]
    if not found:
        raise InputError(f"{path}: no rows to compare; give a table with rows measured there")
    rows.refuse_duplicates((rows.point_of(row, NAMES), file) for row, file in found)
    table = _typed([row for row, _ in found])
    if path.is_dir() or collected:
        samples = _of_cells(table, [file for _, file in found])
    else:
        samples = _of_table(table, path)
    return Run(table, samples)


def _measured(path: Path) -> list[tuple[list[str], Path]]:
    """The measured rows of measurements.csv, each with the place of its cell."""
    chosen = [row for _, origin, *row in rows.read_collected(path) if origin == "measured"]
    cells = path.parent / "cells"
    return [(row, rows.cell_path(cells, rows.point_of(row, NAMES))) for row in chosen]


def _typed(lines: list[list[str]]) -> pd.DataFrame:
    text = pd.DataFrame(lines, columns=NAMES, dtype="str")
    leading = dict.fromkeys(schema.LEADING, "")
    typed = frame.typed(text.assign(**leading)).drop(columns=[*leading, "between_sd"])
    return typed.set_index(pd.MultiIndex.from_frame(typed[POINT]))


def _of_cells(table: pd.DataFrame, files: Iterable[Path]) -> dict[tuple, pd.DataFrame]:
    found = {}
    for (point, row), file in zip(table.iterrows(), files, strict=True):
        if row["status"] == "ok":
            beside = _samples_of(file)
            found[point] = _blocks(_read(beside, SAMPLE), row, beside)
    return found


def _of_table(table: pd.DataFrame, path: Path) -> dict[tuple, pd.DataFrame]:
    beside = _samples_of(path)
    ok = table[table["status"] == "ok"]
    if ok.empty:
        return {}
    lines = dict(iter(_read(beside, [*POINT, *SAMPLE]).groupby(POINT, sort=False)))
    found = {}
    for point, row in ok.iterrows():
        if point not in lines:
            raise InputError(f"{beside}: no samples of {_words(point)}; record the run again")
        found[point] = _blocks(lines[point], row, beside)
    return found


def _samples_of(rows_file: Path) -> Path:
    return rows_file.with_name(rows_file.stem + SUFFIX)


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    try:
        lines = pd.read_csv(path, dtype=dict.fromkeys(POINT, "str"), compression="gzip")
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no such file, but the row has times; samples belong beside the rows"
        ) from error
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: not readable samples ({error}); measure it again") from error
    if list(lines) != columns:
        raise InputError(
            f"{path}: columns are {', '.join(lines)}, expected {', '.join(columns)}; "
            "measure it again"
        )
    try:
        kinds = {"block": "int64", "time_us": "float64"}
        return lines.astype(kinds | {n: "int64" for n in ("M", "N") if n in lines})
    except ValueError as error:
        raise InputError(f"{path}: not numbers ({error}); measure it again") from error


def _blocks(lines: pd.DataFrame, row: pd.Series, path: Path) -> pd.DataFrame:
    """One line a block, one column a series; every block must have every series, once."""
    where = f"{path}: samples of {_words(row[POINT])}"
    if lines.duplicated(["block", "series"]).any():
        raise InputError(f"{where}: a series comes twice in a block; measure it again")
    blocks = lines.pivot(index="block", columns="series", values="time_us")
    if not (np.isfinite(blocks) & (blocks > 0)).all(axis=None):
        raise InputError(f"{where}: a block lacks a time above 0; measure it again")
    lacking = [name for name in (VARIANT, TORCH) if name not in blocks]
    if lacking:
        raise InputError(f"{where}: no series {lacking[0]}; measure it again")
    if len(blocks) != row["n_samples"]:
        raise InputError(
            f"{where}: {len(blocks)} blocks, its row has n_samples = {row['n_samples']:g}: "
            "samples of another measurement; measure it again"
        )
    return blocks


def _words(point: Iterable) -> str:
    return " ".join(str(part) for part in point)
