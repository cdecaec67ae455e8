"""Read a run: its rows and, block by block, its raw samples."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import frame, rows, schema
from analysis.errors import InputError
from analysis.record import SAMPLE, read_samples
from measure.row import samples_path

POINT = list(schema.POINT)
VARIANT, TORCH, COPY = "variant", "torch", "copy"  # series of the samples


@dataclass(frozen=True)
class Run:
    """Rows and samples.

    `rows` are typed as by frame.load, with the point as the index; `samples` maps the point of
    every ok row to µs per call, one line per block, one column per series.
    """

    rows: pd.DataFrame
    samples: dict[tuple, pd.DataFrame]


def load(path: Path) -> Run:
    """Read a folder of cells, measurements.csv, or a recorded table.

    The samples lie beside the cells or the table. Of measurements.csv only the measured rows count,
    because two runs share the recorded ones; their samples are in the folder `cells` beside it.
    Other rows rank by default (rows.with_ranking). Raises InputError, naming the file, when there
    is nothing to read, a file is broken, a point comes twice, or the samples of an ok row are
    missing, broken or of another row.
    """
    path = Path(path)
    collected = path.is_file() and rows.is_collected(path)
    if path.is_dir():
        cells = sorted(path.rglob("*.csv"))
        if not cells:
            raise InputError(f"{path}: no cells in this folder; give results/cells of a run")
        entries = [(rows.with_ranking(rows.read_cell(cell)), cell) for cell in cells]
    elif collected:
        measured = [row for row in rows.read_collected(path) if row["origin"] == "measured"]
        entries = [(row, rows.cell_path(path.parent / "cells", row)) for row in measured]
    else:
        entries = [(rows.with_ranking(row), path) for row in rows.read_rows(path)]
    if not entries:
        raise InputError(f"{path}: no rows to compare; give a table with rows measured there")
    rows.refuse_duplicates((rows.point_of(row), file) for row, file in entries)
    leading = dict.fromkeys(schema.LEADING, "")
    table = frame.from_rows([leading | row for row, _ in entries])
    table.index = pd.MultiIndex.from_frame(table[POINT])
    if path.is_dir() or collected:
        samples = _of_cells(table, [file for _, file in entries])
    else:
        samples = _of_table(table, path)
    return Run(table, samples)


def _of_cells(table: pd.DataFrame, files: Iterable[Path]) -> dict[tuple, pd.DataFrame]:
    samples = {}
    for (point, row), file in zip(table.iterrows(), files, strict=True):
        if row["status"] == "ok":
            beside = samples_path(file)
            samples[point] = _blocks(read_samples(beside, SAMPLE), row, beside)
    return samples


def _of_table(table: pd.DataFrame, path: Path) -> dict[tuple, pd.DataFrame]:
    beside = samples_path(path)
    ok = table[table["status"] == "ok"]
    if ok.empty:
        return {}
    lines = dict(iter(read_samples(beside, [*POINT, *SAMPLE]).groupby(POINT, sort=False)))
    samples = {}
    for point, row in ok.iterrows():
        if point not in lines:
            raise InputError(f"{beside}: no samples of {_name(point)}; record the run again")
        samples[point] = _blocks(lines[point], row, beside)
    return samples


def _blocks(lines: pd.DataFrame, row: pd.Series, path: Path) -> pd.DataFrame:
    """Return one line per block, one column per series; all blocks have each series once."""
    where = f"{path}: samples of {_name(row[POINT])}"
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


def _name(point: Iterable) -> str:
    return " ".join(str(part) for part in point)
