"""torch and the rival where a sweep has no rows of them: as every row's own controls saw them."""

import pandas as pd

from analysis import palette
from analysis.frame import POINT, timed
from analysis.ratios import BASELINE

CONTROL = "control"  # the flag of such a row
# What is known of a control only together with the row that it stands in.
UNKNOWN = ["time_us_q20", "time_us_q80", "warm_us", "latency_us"]


def added(frame: pd.DataFrame) -> pd.DataFrame:
    """`frame`, and below its rows one for each control that no row of its point is about.

    Every row has timed torch in its own process (`torch_us`), and the sweep's rival (`rival_us`).
    Where no row of the point has that name, whatever its status, their medians over the point's
    rows become one, with the interval of the rival's speed-up that `rival_low` and `rival_high`
    say. The new rows' index goes on from the last.
    """
    rows = frame[timed(frame)]
    known = pd.MultiIndex.from_frame(frame[[*POINT, "variant"]])
    parts = [_torch(rows), _rival(rows)]
    made = pd.concat([part for part in parts if len(part)] or [rows.iloc[:0]])
    names = pd.MultiIndex.from_frame(made[[*POINT, "variant"]])
    made = made[~names.isin(known)]
    return pd.concat([frame, made], ignore_index=True) if len(made) else frame


def note(rows: pd.DataFrame) -> list[str]:
    """What the fine print says of such rows, where there are any."""
    found = rows[rows["flags"] == CONTROL]["variant"]
    if found.empty:
        return []
    names = " and ".join(sorted(set(found), key=palette.order))
    return [f"{names}: also as the other rows' controls, timed in their processes"]


def _torch(rows: pd.DataFrame) -> pd.DataFrame:
    ones = dict.fromkeys(("speedup", "speedup_low", "speedup_high"), 1.0)
    return _of(rows[rows["torch_us"].notna()], "torch_us").assign(variant=BASELINE, **ones)


def _rival(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[(rows["rival"] != "") & rows["rival_us"].notna()]
    over = {
        name: rows["speedup"] / rows[column]
        for name, column in (
            ("speedup", "rival_speedup"),
            ("speedup_low", "rival_high"),
            ("speedup_high", "rival_low"),
        )
    }
    return _of(rows.assign(**over), "rival_us").assign(variant=lambda made: made["rival"])


def _of(rows: pd.DataFrame, time: str) -> pd.DataFrame:
    """A row for each point of `rows`, which took `time`."""
    if rows.empty:
        return rows
    scale = rows["time_us"] / rows[time]
    new = rows.assign(
        time_us=rows[time],
        throughput_gbps=rows["throughput_gbps"] * scale,
        of_copy=rows["of_copy"] * scale,
        flags=CONTROL,
        **dict.fromkeys(UNKNOWN, float("nan")),
    )
    numbers = ["time_us", "throughput_gbps", "of_copy", "copy_us"]
    numbers += ["speedup", "speedup_low", "speedup_high"]
    groups = new.groupby(POINT, sort=False)
    return (
        groups.first()
        .reset_index()
        .assign(**{name: groups[name].median().to_numpy() for name in numbers})[list(rows.columns)]
    )
