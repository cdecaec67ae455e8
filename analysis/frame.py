"""Collected rows as a pandas frame, and rows for torch where it was only a control."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import rows, schema
from analysis.errors import InputError
from analysis.statistics import BASELINE

# The columns that the variants of one point share, in merged rows.
MATRIX = [*schema.LEADING, *schema.POINT[:-1]]
MIN_PROCESSES = 3  # for an estimate of the deviation between processes

CONTROL = "control"  # the flag of rows that `with_controls` adds
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
    """Return `frame`, and below its rows one of torch for each point that has no row of torch.

    Every row has timed torch in its process (`torch_us`). The median over the rows of a point
    becomes a row. The index goes on.
    """
    made = _torch(frame[timed(frame) & frame["torch_us"].notna()])
    own = frame.loc[frame["variant"] == BASELINE, MATRIX]
    made = made[~pd.MultiIndex.from_frame(made[MATRIX]).isin(pd.MultiIndex.from_frame(own))]
    return pd.concat([frame, made], ignore_index=True) if len(made) else frame


def controls_note(rows: pd.DataFrame) -> list[str]:
    """Return what a figure's fine print says about rows of `with_controls`."""
    if (rows["flags"] != CONTROL).all():
        return []
    return [f"{BASELINE}: also as the other rows' control, timed in their processes"]


def _torch(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row of torch for each point of `rows`."""
    if rows.empty:
        return rows
    scale = rows["time_us"] / rows["torch_us"]
    new = rows.assign(
        variant=BASELINE,
        flags=CONTROL,
        time_us=rows["torch_us"],
        throughput_gbps=rows["throughput_gbps"] * scale,
        of_copy=rows["of_copy"] * scale,
        **dict.fromkeys(SPEEDUP, 1.0),
        **dict.fromkeys(UNKNOWN, float("nan")),
    )
    numbers = ["time_us", "throughput_gbps", "of_copy", "copy_us"]
    groups = new.groupby(MATRIX, sort=False)
    medians = {name: groups[name].median().to_numpy() for name in numbers}
    return groups.first().reset_index().assign(**medians)[list(rows.columns)]
