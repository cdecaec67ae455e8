"""Collected rows as a pandas frame with the types of row.csv."""

from pathlib import Path

import numpy as np
import pandas as pd

from analysis import rows, schema

# What the variants of one point have in common, in merged rows.
POINT = [*schema.LEADING, *schema.POINT[:-1]]
FEWEST = 3  # processes, for a deviation between them to say anything


def load(path: Path) -> pd.DataFrame:
    """Measurements as a frame: columns `sweep`, `origin`, `ranked`, then those of a row.

    Text is str with "" for not applicable; M and N are int64; other numbers are float64 with NaN
    for not applicable; booleans stay text (`true`, `false`, ""). Two columns are added,
    `between_sd` and `unranked_by`: see between_processes and unranked_by. A merged file is read
    and InputError raised as by rows.read_collected.
    """
    names = [*schema.COLLECTED, *schema.header()]
    return typed(pd.DataFrame(rows.read_collected(path), columns=names, dtype="str"))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the columns of `frame` that are in row.csv their types, as `load` describes."""
    frame = frame.copy()
    for column in schema.columns():
        if column.type in ("int", "float"):
            kind = "int64" if column.name in ("M", "N") else "float64"
            text = frame[column.name]
            frame[column.name] = text.where(text != "", None).astype(kind)
    frame["between_sd"] = between_processes(frame)
    frame["unranked_by"] = unranked_by(frame)
    return frame


def between_processes(frame: pd.DataFrame) -> pd.Series:
    """Relative standard deviation, per point, of the same torch call timed in other processes.

    Every row of a point has timed torch.softmax on the same shape in a process of its own. How far
    these times lie apart is what an interval from within one process cannot know. Part of it is a
    drift of the clocks that cancels in a ratio, so it is an upper bound for ratios. 0 where fewer
    than FEWEST processes timed torch.
    """
    logs = np.log(frame["torch_us"])
    groups = logs.groupby([frame[name] for name in POINT])
    spread = groups.transform("std").where(groups.transform("count") >= FEWEST)
    return spread.fillna(0.0)


def timed(frame: pd.DataFrame) -> pd.Series:
    """Mask of the rows whose time counts.

    Only status `ok` has a time, and `ranked` is false where a flag speaks against it: which flags
    do is said in the configuration (`unranked_flags`).
    """
    return (frame["status"] == "ok") & frame["time_us"].notna() & (frame["ranked"] == "true")


def unranked_by(frame: pd.DataFrame) -> pd.Series:
    """The flags that keep an ok row from ranking, separated by blanks; "" for any other row.

    The rows themselves tell: a flag that a row carries and ranks all the same is no reason. Of
    flags that never come apart all are named.
    """
    carried = frame["flags"].str.split()
    harmless = {flag for flags in carried[frame["ranked"] == "true"] for flag in flags}
    reasons = [" ".join(flag for flag in flags if flag not in harmless) for flags in carried]
    kept_out = (frame["status"] == "ok") & (frame["ranked"] == "false")
    return pd.Series(reasons, index=frame.index, dtype="str").where(kept_out, "")


def outcomes(frame: pd.DataFrame) -> pd.Series:
    """What became of each row: its status, or `not ranked (…)`, with the flags, instead of ok."""
    words = "not ranked (" + frame["unranked_by"].str.replace(" ", ", ") + ")"
    return frame["status"].where(frame["unranked_by"] == "", words)


def distinct(values: pd.Series) -> list[str]:
    """The different values that are not empty, sorted."""
    return sorted(set(values) - {""})
