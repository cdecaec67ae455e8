"""A merged row file as a pandas frame with the types of row.csv."""

from pathlib import Path

import numpy as np
import pandas as pd

from analysis import rows, schema

# What the variants of one point have in common, in merged rows.
POINT = [*schema.LEADING, *schema.POINT[:-1]]
FEWEST = 3  # processes, for a deviation between them to say anything


def load(path: Path) -> pd.DataFrame:
    """Measurements as a frame: columns `sweep`, `origin`, then those of a row.

    Text is str with "" for not applicable; M and N are int64; other numbers are float64 with NaN
    for not applicable; booleans stay text (`true`, `false`, ""). One column is added,
    `between_sd`: see between_processes. Raises InputError as rows.read_rows does.
    """
    names = (*schema.LEADING, *schema.header())
    frame = pd.DataFrame(rows.read_rows(path, schema.LEADING), columns=list(names), dtype="str")
    return typed(frame)


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the columns of `frame` that are in row.csv their types, as `load` describes."""
    frame = frame.copy()
    for column in schema.columns():
        if column.type in ("int", "float"):
            kind = "int64" if column.name in ("M", "N") else "float64"
            text = frame[column.name]
            frame[column.name] = text.where(text != "", None).astype(kind)
    frame["between_sd"] = between_processes(frame)
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

    Only status `ok` has a time, and a row flagged `faster_than_copy` is an error of the
    measurement: beyond L2 nothing can move its bytes faster than a copy does.
    """
    return (frame["status"] == "ok") & frame["time_us"].notna() & ~faster_than_copy(frame)


def faster_than_copy(frame: pd.DataFrame) -> pd.Series:
    """Mask of the rows that carry that flag."""
    return frame["flags"].str.split().map(lambda flags: "faster_than_copy" in flags).astype(bool)


def distinct(values: pd.Series) -> list[str]:
    """The different values that are not empty, sorted."""
    return sorted(set(values) - {""})
