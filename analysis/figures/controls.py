"""torch and the rival where a sweep has no rows of them: as every row's own controls saw them."""

from dataclasses import astuple

import pandas as pd

from analysis import palette
from analysis.frame import POINT, timed
from analysis.ratios import BASELINE, Ratio, quotient

# Flags of such rows. A rival's says where it stands, but wins nothing: whether its results are
# right is for a row of its own to say.
CONTROL, RIVAL = "control", "rival"
SPEEDUP = ["speedup", "speedup_low", "speedup_high"]
# What is known of a control only together with the row that it stands in.
UNKNOWN = ["time_us_q20", "time_us_q80", "warm_us", "latency_us"]


def added(frame: pd.DataFrame) -> pd.DataFrame:
    """`frame`, and below its rows one for each control that no row of its point is about.

    Every row has timed torch in its own process (`torch_us`), and the sweep's rival (`rival_us`).
    Where no row of the point has that name, whatever its status, their medians over the point's
    rows become one, the rival's with the interval that the row's own and `rival_low` and
    `rival_high` make together. The new rows' index goes on from the last.
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
    found = rows[rows["flags"].isin([CONTROL, RIVAL])]
    if found.empty:
        return []
    names = " and ".join(sorted(set(found["variant"]), key=palette.order))
    ranked = "; the rival is not ranked" if (found["flags"] == RIVAL).any() else ""
    return [f"{names}: also as the other rows' controls, timed in their processes{ranked}"]


def _torch(rows: pd.DataFrame) -> pd.DataFrame:
    made = _of(rows[rows["torch_us"].notna()], "torch_us")
    return made.assign(variant=BASELINE, flags=CONTROL, **dict.fromkeys(SPEEDUP, 1.0))


def _rival(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[(rows["rival"] != "") & rows["rival_us"].notna()]
    ours, theirs = (rows[SPEEDUP], rows[["rival_speedup", "rival_low", "rival_high"]])
    pairs = zip(ours.to_numpy(), theirs.to_numpy(), strict=True)
    over = [astuple(quotient(Ratio(*our), Ratio(*their))) for our, their in pairs]
    known = pd.DataFrame(over, columns=SPEEDUP, index=rows.index)
    made = _of(rows.assign(**known), "rival_us")
    return made.assign(variant=made["rival"], flags=RIVAL)


def _of(rows: pd.DataFrame, time: str) -> pd.DataFrame:
    """A row for each point of `rows`, which took `time`."""
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
    groups = new.groupby(POINT, sort=False)
    return (
        groups.first()
        .reset_index()
        .assign(**{name: groups[name].median().to_numpy() for name in numbers})[list(rows.columns)]
    )
