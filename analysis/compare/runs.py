"""Read runs, their rows and raw samples, and match the points of two measured alike."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import frame, rows, schema
from analysis.errors import InputError
from analysis.record import SAMPLE, read_samples
from analysis.report.markdown import span
from measure.row import samples_path

POINT = list(schema.POINT)
VARIANT, TORCH, COPY = "variant", "torch", "copy"  # series of the samples


# What must be equal for kernels to be compared; `seed` makes the input.
CONDITIONS = (
    *("gpu_name", "driver", "cuda", "torch", "triton", *schema.OPTIONAL),
    *("measure_sha256", "seed"),
)
# What the torch control depends on: where one of them differs, torch does not cancel drift.
OF_TORCH = {"gpu_name", "driver", "cuda", "torch", "seed"}
NOTED = ("gpu_uuid",)  # another board of the same model is noted, not refused


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
    samples = _samples(table, [file for _, file in entries], path.is_dir() or collected)
    return Run(table, samples)


def _samples(table: pd.DataFrame, files: Iterable[Path], cells: bool) -> dict[tuple, pd.DataFrame]:
    """Return the blocks of every ok row, from beside its file: a cell or the recorded table."""
    samples, recorded = {}, {}
    for (point, row), file in zip(table.iterrows(), files, strict=True):
        if row["status"] != "ok":
            continue
        beside = samples_path(file)
        if cells:
            lines = read_samples(beside, SAMPLE)
        else:
            recorded = recorded or dict(
                iter(read_samples(beside, [*POINT, *SAMPLE]).groupby(POINT, sort=False))
            )
            lines = recorded.get(point)
        if lines is None:
            raise InputError(f"{beside}: no samples of {_name(point)}; record the run again")
        samples[point] = _blocks(lines, row, beside)
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


@dataclass(frozen=True)
class Matched:
    """The points of two runs.

    `both` is the index of the points in both. `differs` maps each differing condition to the
    sorted (old, new) values; `noted` likewise for what is noted only.
    """

    old: Run
    new: Run
    both: pd.MultiIndex
    differs: dict[str, list[tuple[str, str]]]
    noted: dict[str, list[tuple[str, str]]]

    @property
    def paired(self) -> bool:
        """Return whether torch is an unchanged control, for speed-ups over it to be comparable."""
        return not OF_TORCH & set(self.differs)


def match(old: Run, new: Run, allow: bool) -> Matched:
    """Pair the rows of two runs by point.

    Raises InputError when they share no point or, unless `allow`, a condition differs.
    """
    both = old.rows.index.intersection(new.rows.index).sort_values()
    if both.empty:
        raise InputError(
            f"no point in common: OLD has {_has(old.rows)}; NEW has {_has(new.rows)}; "
            "compare runs of one GPU and one sweep"
        )
    pair = old.rows.loc[both], new.rows.loc[both]
    differs, noted = _differences(*pair, CONDITIONS), _differences(*pair, NOTED)
    if differs and not allow:
        raise InputError(
            f"OLD and NEW were not measured alike: {describe(differs)}; measure both alike, or "
            "give --allow to compare them all the same"
        )
    return Matched(old, new, both, differs, noted)


def describe(differs: dict[str, list[tuple[str, str]]]) -> str:
    """Return `driver 570 in OLD, 580 in NEW` for every difference; hashes shortened."""
    return "; ".join(
        f"{name} {old[:24]} in OLD, {new[:24]} in NEW" + (" and others" if rest else "")
        for name, ((old, new), *rest) in differs.items()
    )


def _differences(old: pd.DataFrame, new: pd.DataFrame, names) -> dict[str, list[tuple[str, str]]]:
    found = {}
    for name in names:
        pairs = zip(_text(old[name]), _text(new[name]), strict=True)
        # Empty is unknown (a row that crashed, a package the kernel does not use), not different.
        unlike = sorted({(a, b) for a, b in pairs if a and b and a != b})
        if unlike:
            found[name] = unlike
    return found


def _text(values: pd.Series) -> list[str]:
    if values.dtype.kind == "f":
        return ["" if pd.isna(value) else f"{value:.0f}" for value in values]
    return values.to_list()


def _has(rows: pd.DataFrame) -> str:
    parts = [f"{name} {'/'.join(sorted(set(rows[name])))}" for name in schema.POINT[:4]]
    return ", ".join([*parts, *(f"{name} {span(rows[name])}" for name in ("M", "N"))])
