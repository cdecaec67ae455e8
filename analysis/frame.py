"""Collected rows as a pandas frame, and rows for torch where it was only a control."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from analysis import InputError, rows, schema
from analysis.schema import BASELINE, SWEEP_MATRIX

CONTROL = "control"  # the flag of rows that `with_controls` adds
# Columns of a control that nobody measured.
UNKNOWN = ["time_us_q20", "time_us_q80", "warm_us", "latency_us", "speedup_low", "speedup_high"]
# What a number with such a flag carries wherever it stands, and the line that explains it.
MARKS = {"throttled": "†", "clock_drift": "†", "edge_cases": "‡"}
LEGEND = {
    "†": "† the GPU was throttled, or its clock drifted, while this was timed",
    "‡": "‡ right on ordinary input, wrong on special values",
}


def load(path: Path) -> pd.DataFrame:
    """Return a merged or collected file (see rows.read_collected) as a typed frame.

    Text is str with "" for not applicable; M and N are int64; other numbers are float64 with NaN
    for not applicable; booleans stay text.
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


def ranks(frame: pd.DataFrame, any_board: bool = False) -> pd.Series:
    """Return the mask of the rows that rank: status `ok`, a time, and no excluding flag.

    `any_board`: those of a board on which a matrix is not ranked, as well.
    """
    ranked = frame["ranked"] == "true"
    if any_board:
        ranked |= frame["unranked_by"] == schema.OTHER_BOARD
    return (frame["status"] == "ok") & frame["time_us"].notna() & ranked


def outcomes(frame: pd.DataFrame) -> pd.Series:
    """Return each row's status, or `not ranked (…)` with the flags that exclude it."""
    words = "not ranked (" + frame["unranked_by"].str.replace(" ", ", ") + ")"
    return frame["status"].where(frame["unranked_by"] == "", words)


def mark(flags: str) -> str:
    """Return the marks of a row's flags, to stand behind its numbers."""
    return "".join(sorted({MARKS[flag] for flag in flags.split() if flag in MARKS}))


def named(row: Mapping) -> str:
    """Return the variant of a row with the marks of its flags."""
    return row["variant"] + mark(row["flags"])


def legend(flags: Iterable[str]) -> list[str]:
    """Return a line for each mark that rows with these flags have."""
    present = set("".join(map(mark, set(flags))))
    return [LEGEND[sign] for sign in sorted(present)]


def distinct(values: pd.Series) -> list[str]:
    """Return the different values that are not empty, sorted."""
    return sorted(set(values) - {""})


def with_controls(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame`, and below its rows one of torch for each matrix without a row of torch.

    Every row has timed torch in its process (`torch_us`). The median over the rows of a matrix
    becomes a row; a row of torch on another board counts as none. The index goes on.
    """
    made = _torch(frame[ranks(frame) & frame["torch_us"].notna()])
    here = frame["unranked_by"] != schema.OTHER_BOARD
    own = frame.loc[here & (frame["variant"] == BASELINE), SWEEP_MATRIX]
    made = made[~pd.MultiIndex.from_frame(made[SWEEP_MATRIX]).isin(pd.MultiIndex.from_frame(own))]
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
        speedup=1.0,
        **dict.fromkeys(UNKNOWN, float("nan")),
    )
    if "rank" in new:  # a control does not compete
        new = new.assign(rank=float("nan"), in_best_set=False, competitors=0)
    numbers = ["time_us", "throughput_gbps", "of_copy", "copy_us"]
    groups = new.groupby(SWEEP_MATRIX, sort=False)
    medians = {name: groups[name].median().to_numpy() for name in numbers}
    return groups.first().reset_index().assign(**medians)[list(rows.columns)]
