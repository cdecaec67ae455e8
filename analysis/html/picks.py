"""What the first screen answers with: the winner of every point, in the words of the report."""

import math

import pandas as pd

from analysis.frame import POINT
from analysis.ratios import BASELINE
from analysis.report import markdown as md

# Where the picker starts, if that was measured: a size at which calls are neither short nor long.
FIRST_M, FIRST_N = 1024, 8192


def picks(summary: pd.DataFrame, names: dict[str, str]) -> list[dict[str, object]]:
    """One entry per point that has a winner, measured before recorded; `names`: slug to GPU."""
    winners = summary[summary["best"]].sort_values(["origin", "gpu", *POINT[3:]])
    return [_pick(row, names) for row in winners.to_dict("records")]


def first(found: list[dict[str, object]]) -> dict[str, object]:
    """The pick to start with: on the first GPU, softmax and float32 where there are such."""
    return min(
        (pick for pick in found if pick["place"] == found[0]["place"]),
        key=lambda pick: (
            pick["op"] != "softmax",
            pick["dtype"] != "float32",
            abs(math.log(pick["N"] / FIRST_N)) + abs(math.log(pick["M"] / FIRST_M)),
        ),
    )


def _pick(row: dict, names: dict[str, str]) -> dict[str, object]:
    recorded = " (recorded)" if row["origin"] == "recorded" else ""
    lead = md.with_interval(row["lead"], row["lead_low"], row["lead_high"])
    low, high = md.number(row["speedup_low"]), md.number(row["speedup_high"])
    return {name: row[name] for name in POINT} | {
        "place": f"{names[row['gpu']]}{recorded}",
        "variant": row["variant"],
        "flags": row["flags"],
        "is_torch": row["variant"] == BASELINE,
        "time": md.number(row["time_us"]),
        "speedup": md.number(row["speedup"]),
        "interval": f"{low} to {high}" if low else "",
        "of_copy": md.number(row["of_copy"], 3),
        "runner_up": row["runner_up"],
        "lead": lead,
        "sure": bool(row["lead_sure"]),
    }
