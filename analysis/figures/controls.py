"""torch in figures of sweeps without rows of torch: every process has timed it as a control."""

import pandas as pd

from analysis.frame import is_ranked
from analysis.schema import BASELINE, SWEEP_MATRIX

CONTROL = "control"  # the flag of rows that `with_controls` adds
NOTE = f"{BASELINE}: also as the other rows' control, timed in their processes"
MEDIANS = ["time_us", "throughput_gbps", "of_copy", "of_meet", "copy_us", "meet_us"]
UNKNOWN = ["time_us_q20", "time_us_q80", "warm_us", "latency_us", "speedup_low", "speedup_high"]
UNKNOWN += ["rank"]  # it does not compete


def with_controls(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with a row of torch added for each matrix without a timed one.

    The row has the median of `torch_us` over the rows of the matrix, and the flag CONTROL. Added
    rows come last, and the index continues.
    """
    timed = frame[is_ranked(frame, any_board=True) & (frame["variant"] == BASELINE)]
    known = pd.MultiIndex.from_frame(timed[SWEEP_MATRIX])
    rows = frame[is_ranked(frame) & frame["torch_us"].notna()]
    rows = rows[~pd.MultiIndex.from_frame(rows[SWEEP_MATRIX]).isin(known)]
    if rows.empty:
        return frame
    scale = rows["time_us"] / rows["torch_us"]
    known = {"variant": BASELINE, "flags": CONTROL, "time_us": rows["torch_us"], "speedup": 1.0}
    known |= {name: rows[name] * scale for name in ("throughput_gbps", "of_copy", "of_meet")}
    known |= dict.fromkeys(UNKNOWN, float("nan")) | {"in_best_set": False, "competitors": 0}
    groups = rows.assign(**known).groupby(SWEEP_MATRIX, sort=False)
    controls = groups.first().assign(**groups[MEDIANS].median()).reset_index()
    return pd.concat([frame, controls[list(frame.columns)]], ignore_index=True)
