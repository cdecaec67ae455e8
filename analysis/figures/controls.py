"""torch in figures of sweeps without rows of torch: every process has timed it as a control."""

import pandas as pd

from analysis.frame import is_ranked
from analysis.schema import BASELINE, SWEEP_MATRIX

CONTROL = "control"  # the flag of rows that `with_controls` adds
# Columns that a control leaves empty.
UNKNOWN = ["time_us_q20", "time_us_q80", "warm_us", "latency_us", "speedup_low", "speedup_high"]


def with_controls(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with a row of torch added for each matrix without a timed one.

    The row has the median of `torch_us` over the rows of the matrix, and the flag CONTROL. Added
    rows come last, and the index continues.
    """
    controls = _torch(frame[is_ranked(frame) & frame["torch_us"].notna()])
    timed = is_ranked(frame, any_board=True) & (frame["variant"] == BASELINE)
    known = pd.MultiIndex.from_frame(frame.loc[timed, SWEEP_MATRIX])
    controls = controls[~pd.MultiIndex.from_frame(controls[SWEEP_MATRIX]).isin(known)]
    return pd.concat([frame, controls], ignore_index=True) if len(controls) else frame


def controls_note(rows: pd.DataFrame) -> list[str]:
    """Return the line of the fine print about rows of `with_controls`, if there are any."""
    if (rows["flags"] != CONTROL).all():
        return []
    return [f"{BASELINE}: also as the other rows' control, timed in their processes"]


def _torch(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row of torch for each matrix of `rows`."""
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
