"""Collected rows as a pandas frame, and rows for the controls that were timed beside them."""

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import palette, rows, schema
from analysis.errors import InputError
from analysis.statistics import BASELINE, Ratio, quotient

# The columns that the variants of one point share, in merged rows.
MATRIX = [*schema.LEADING, *schema.POINT[:-1]]
MIN_PROCESSES = 3  # for an estimate of the deviation between processes

# Flags of rows that `with_controls` adds. A second baseline is not ranked: only a row of the
# variant itself tells whether its results are correct.
CONTROL, SECOND_BASELINE = "control", "rival"
SPEEDUP = ["speedup", "speedup_low", "speedup_high"]
# Columns of a control that nobody measured.
UNKNOWN = ["time_us_q20", "time_us_q80", "warm_us", "latency_us"]


def load(path: Path) -> pd.DataFrame:
    """Return a merged or collected file (see rows.read_collected) as a typed frame.

    Text is str with "" for not applicable; M and N are int64; other numbers are float64 with NaN
    for not applicable; booleans stay text. `between_sd` is added (see between_processes).
    """
    return from_rows(rows.read_collected(path))


def from_rows(collected: list[rows.Row]) -> pd.DataFrame:
    """Return rows of text as a frame with the types that `load` describes."""
    names = [*schema.COLLECTED, *schema.COLUMNS]
    frame = pd.DataFrame(collected, columns=names, dtype="str")
    for column in schema.SCHEMA.values():
        if column.type in ("int", "float"):
            kind = "int64" if column.name in ("M", "N") else "float64"
            text = frame[column.name]
            frame[column.name] = text.where(text != "", None).astype(kind)
    frame["between_sd"] = between_processes(frame)
    # A row without a time is out for its status, whatever its flags are.
    frame["unranked_by"] = frame["unranked_by"].where(frame["status"] == "ok", "")
    return frame


def read_table(path: Path, columns: Sequence[str], text: Sequence[str], step: str) -> pd.DataFrame:
    """Return a table that the command `step` wrote; the columns `text` are str, "" for empty.

    Raises InputError when the file is missing or has other columns.
    """
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(text, "str"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); run `{step}` first") from error
    if list(table) != list(columns):
        raise InputError(f"{path}: not written by `{step}`: its columns differ; run it again")
    return table.fillna(dict.fromkeys(text, ""))


def between_processes(frame: pd.DataFrame) -> pd.Series:
    """Return, per point, the relative standard deviation of one torch call between processes.

    Every row of a point has timed torch.softmax on the same shape in its process. The spread of
    these times is what an interval from within one process cannot know. A drift of the clocks is
    part of it but cancels in a ratio: it is an upper bound for ratios. 0 where fewer than
    MIN_PROCESSES timed torch.
    """
    logs = np.log(frame["torch_us"])
    groups = logs.groupby([frame[name] for name in MATRIX])
    spread = groups.transform("std").where(groups.transform("count") >= MIN_PROCESSES)
    return spread.fillna(0.0)


def timed(frame: pd.DataFrame) -> pd.Series:
    """Return the mask of the rows that rank: status `ok`, a time, and no excluding flag."""
    return (frame["status"] == "ok") & frame["time_us"].notna() & (frame["ranked"] == "true")


def outcomes(frame: pd.DataFrame) -> pd.Series:
    """Return each row's status, or `not ranked (…)` with the flags that exclude it."""
    words = "not ranked (" + frame["unranked_by"].str.replace(" ", ", ") + ")"
    return frame["status"].where(frame["unranked_by"] == "", words)


def distinct(values: pd.Series) -> list[str]:
    """Return the different values that are not empty, sorted."""
    return sorted(set(values) - {""})


def with_controls(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame`, and below its rows one for each control that has no row at its point.

    Every row has timed torch in its process (`torch_us`), and the sweep's second baseline
    (`rival_us`). Their medians over the rows of a point become a row. The index goes on.
    """
    rows = frame[timed(frame)]
    known = pd.MultiIndex.from_frame(frame[[*MATRIX, "variant"]])
    parts = [_torch(rows), _second_baseline(rows)]
    made = pd.concat([part for part in parts if len(part)] or [rows.iloc[:0]])
    names = pd.MultiIndex.from_frame(made[[*MATRIX, "variant"]])
    made = made[~names.isin(known)]
    return pd.concat([frame, made], ignore_index=True) if len(made) else frame


def controls_note(rows: pd.DataFrame) -> list[str]:
    """Return what a figure's fine print says about rows of `with_controls`."""
    controls = rows[rows["flags"].isin([CONTROL, SECOND_BASELINE])]
    if controls.empty:
        return []
    names = " and ".join(sorted(set(controls["variant"]), key=palette.order))
    second = (controls["flags"] == SECOND_BASELINE).any()
    ranked = "; the rival is not ranked" if second else ""
    return [f"{names}: also as the other rows' controls, timed in their processes{ranked}"]


def _torch(rows: pd.DataFrame) -> pd.DataFrame:
    made = _of_points(rows[rows["torch_us"].notna()], "torch_us")
    return made.assign(variant=BASELINE, flags=CONTROL, **dict.fromkeys(SPEEDUP, 1.0))


def _second_baseline(rows: pd.DataFrame) -> pd.DataFrame:
    """Its speed-up over torch is that of the row over its speed-up over the row's variant."""
    rows = rows[(rows["rival"] != "") & rows["rival_us"].notna()]
    ours, theirs = (rows[SPEEDUP], rows[["rival_speedup", "rival_low", "rival_high"]])
    pairs = zip(ours.to_numpy(), theirs.to_numpy(), strict=True)
    over = [astuple(quotient(Ratio(*our), Ratio(*their))) for our, their in pairs]
    speedups = pd.DataFrame(over, columns=SPEEDUP, index=rows.index)
    made = _of_points(rows.assign(**speedups), "rival_us")
    return made.assign(variant=made["rival"], flags=SECOND_BASELINE)


def _of_points(rows: pd.DataFrame, time: str) -> pd.DataFrame:
    """Return a row for each point of `rows`, with the time in the column `time`."""
    if rows.empty:
        return rows
    scale = rows["time_us"] / rows[time]
    new = rows.assign(
        time_us=rows[time],
        throughput_gbps=rows["throughput_gbps"] * scale,
        of_copy=rows["of_copy"] * scale,
        **dict.fromkeys(UNKNOWN, float("nan")),
    )
    numbers = ["time_us", "throughput_gbps", "of_copy", "copy_us", *SPEEDUP]
    groups = new.groupby(MATRIX, sort=False)
    medians = {name: groups[name].median().to_numpy() for name in numbers}
    return groups.first().reset_index().assign(**medians)[list(rows.columns)]
