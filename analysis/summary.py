"""Summary: at every point, which variant is fastest, by how much and how surely."""

import math
from pathlib import Path

import pandas as pd

from analysis import atomic, ratios
from analysis.errors import InputError
from analysis.frame import POINT, timed

RANKING = ["rank", "best", "runner_up", "lead", "lead_low", "lead_high", "lead_sure"]
CARRIED = [
    "time_us",
    "time_us_q20",
    "time_us_q80",
    "throughput_gbps",
    "speedup",
    "speedup_low",
    "speedup_high",
    "of_copy",
]
VERDICT = ["status", "flags", "unranked_by", "message"]
COLUMNS = [*POINT, "variant", *RANKING[:2], *CARRIED, *RANKING[2:], *VERDICT]


def summarise(measurements: pd.DataFrame) -> pd.DataFrame:
    """One line per row of `measurements`, with its rank among the variants of its point.

    `rank` 1 is the fastest; only rows whose time counts (frame.timed) have one, and `unranked_by`
    names the flags that keep an ok row from it (frame.unranked_by). Candidates are
    ranked by their paired speed-up over torch when all of them have one, because drift between
    the processes cancels in it (see analysis.ratios), and by `time_us` otherwise. On the winner's
    line: `runner_up`, `lead` = how many times faster it is than the runner-up, with the 95 %
    interval, and `lead_sure` = that interval lies above 1.
    """
    frame = measurements.assign(
        rank=math.nan,
        best=False,
        runner_up="",
        lead=math.nan,
        lead_low=math.nan,
        lead_high=math.nan,
        lead_sure=False,
    )
    candidates = measurements[timed(measurements)]
    places: dict[str, dict[int, object]] = {name: {} for name in RANKING}
    for indices in candidates.groupby(POINT, sort=False).indices.values():
        group = candidates.iloc[indices]
        labels = group.index.to_list()
        records = group.to_dict("records")
        for place, at in enumerate(order(records), start=1):
            places["rank"][labels[at]] = float(place)
        first, *rest = order(records)
        places["best"][labels[first]] = True
        if rest:
            lead = ratios.speed_ratio(records[first], records[rest[0]])
            found = (records[rest[0]]["variant"], lead.value, lead.low, lead.high, sure(lead))
            for name, value in zip(RANKING[2:], found, strict=True):
                places[name][labels[first]] = value
    for name, values in places.items():
        if values:
            frame.loc[list(values), name] = list(values.values())
    frame = frame.sort_values([*POINT, "rank", "variant"])
    return frame[COLUMNS].reset_index(drop=True)


def sure(lead: ratios.Ratio) -> bool:
    """Whether a lead over the runner-up has an interval, and it lies above 1."""
    return not math.isnan(lead.low) and lead.side() == "above"


def order(records: list[dict]) -> list[int]:
    """Positions of timed rows of one point from the fastest to the slowest; ties by name."""
    speeds = [ratios.over_torch(row).value for row in records]
    if any(math.isnan(speed) for speed in speeds):
        speeds = [1 / row["time_us"] for row in records]
    return sorted(range(len(records)), key=lambda i: (-speeds[i], records[i]["variant"]))


def write(measurements: pd.DataFrame, output: Path) -> None:
    """Write the summary as CSV: booleans as true/false, ranks whole, empty = not applicable."""
    table = summarise(measurements)
    table["rank"] = table["rank"].astype("Int64")
    for name in ("best", "lead_sure"):
        table[name] = table[name].map({True: "true", False: "false"})
    with atomic.replacing(output) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def read(path: Path) -> pd.DataFrame:
    """Read back what `write` wrote; `rank` is float64 with NaN, booleans are bool.

    Raises InputError when the file is missing or is not a summary.
    """
    text = [*POINT[:6], "variant", "runner_up", *VERDICT]
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(text, "str"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); run `summary` first") from error
    if list(table) != COLUMNS:
        raise InputError(f"{path}: not a summary: its columns differ; run `summary` again")
    table = table.astype({"best": "bool", "lead_sure": "bool"})
    table[text] = table[text].fillna("")
    return table
