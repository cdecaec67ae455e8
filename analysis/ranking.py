"""Rank the variants of every point: which one is fastest, by how much, and is its lead significant.

`summarise` makes results/summary.csv; figures use `fastest` and `in_front`.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis import palette, rows
from analysis import statistics as stats
from analysis.frame import MATRIX, read_table, timed

RANKING = ["rank", "best", "runner_up", "lead", "lead_low", "lead_high", "lead_sure"]
CARRIED = [
    *("time_us", "time_us_q20", "time_us_q80", "throughput_gbps"),
    *("speedup", "speedup_low", "speedup_high", "of_copy"),
]
OUTCOME = ["status", "flags", "unranked_by", "message"]
COLUMNS = [*MATRIX, "variant", *RANKING[:2], *CARRIED, *RANKING[2:], *OUTCOME]

# The columns that decide the order of a point's rows; published rows lack the last.
RANKED_BY = ["variant", "flags", "time_us", "speedup", "speedup_low", "speedup_high", "between_sd"]


def summarise(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return one line per row of `measurements`, with its rank among the variants of its point.

    `rank` 1 is the fastest; only rows that count as timed (frame.timed) have one. On the winner's
    line: `runner_up`, `lead` = how many times faster it is than the runner-up, with the 95 %
    interval, and `lead_sure` = that interval lies above 1.
    """
    lines: dict[int, dict[str, object]] = {}
    for _, group in measurements[timed(measurements)].groupby(MATRIX, sort=False):
        records, labels = group.to_dict("records"), group.index
        places = order(records)
        for rank, at in enumerate(places, start=1):
            lines[labels[at]] = {"rank": float(rank), "best": rank == 1}
        if len(places) > 1:
            first, second = (records[at] for at in places[:2])
            lead = stats.speed_ratio(first, second)
            found = (second["variant"], lead.value, lead.low, lead.high, significant(lead))
            lines[labels[places[0]]] |= dict(zip(RANKING[2:], found, strict=True))
    ranks = pd.DataFrame.from_dict(lines, orient="index", columns=RANKING)
    frame = measurements.join(ranks.reindex(measurements.index))
    for name in ("best", "lead_sure"):
        frame[name] = frame[name].eq(True)
    frame["runner_up"] = frame["runner_up"].fillna("")
    numbers = ["rank", "lead", "lead_low", "lead_high"]  # text where nothing is timed
    frame[numbers] = frame[numbers].astype("float64")
    frame = frame.sort_values([*MATRIX, "rank", "variant"])
    return frame[COLUMNS].reset_index(drop=True)


def significant(lead: stats.Ratio) -> bool:
    """Return whether a lead over the runner-up has an interval, and it lies above 1."""
    return not math.isnan(lead.low) and lead.side() == "above"


def order(records: list[dict]) -> list[int]:
    """Return the positions of timed rows of one point, fastest first; ties by name.

    By their paired speed-up over torch when all have one, because drift between the processes
    cancels in it (see analysis.statistics); by `time_us` otherwise.
    """
    speeds = [stats.over_torch(row).value for row in records]
    if any(math.isnan(speed) for speed in speeds):
        speeds = [1 / row["time_us"] for row in records]
    return sorted(range(len(records)), key=lambda i: (-speeds[i], records[i]["variant"]))


def write(measurements: pd.DataFrame, output: Path) -> None:
    """Write the summary as CSV: booleans as true/false, ranks whole, empty = not applicable."""
    table = summarise(measurements)
    table["rank"] = table["rank"].astype("Int64")
    for name in ("best", "lead_sure"):
        table[name] = table[name].map({True: "true", False: "false"})
    rows.write(output, table.to_csv(index=False, lineterminator="\n"))


def read(path: Path) -> pd.DataFrame:
    """Return what `write` wrote; `rank` is float64 with NaN, booleans are bool."""
    text = [*MATRIX[:6], "variant", "runner_up", *OUTCOME]
    table = read_table(path, COLUMNS, text, "summary")
    return table.astype({"best": "bool", "lead_sure": "bool"})


@dataclass(frozen=True)
class Winner:
    """The fastest variant of a point; `sure` when its lead is significant."""

    variant: str
    sure: bool


def fastest(rows: pd.DataFrame) -> dict[int, Winner]:
    """Return the winner at every N, of timed rows with one M for each N."""
    by_n = defaultdict(list)
    for row in rows[["N", *rows.columns.intersection(RANKED_BY)]].to_dict("records"):
        by_n[row["N"]].append(row)
    return {n: winner(by_n[n]) for n in sorted(by_n)}


def winner(records: list[dict]) -> Winner:
    """Return the winner among timed rows of one point; the only variant of a point is not sure."""
    first, *rest = (records[i] for i in order(records))
    return Winner(first["variant"], bool(rest) and significant(stats.speed_ratio(first, rest[0])))


def in_front(parts: Iterable[pd.DataFrame], most: int) -> list[str]:
    """Return torch, and the `most` others that win at the most sizes.

    In the order of the palette. Each of `parts` as `fastest` takes them.
    """
    wins: Counter[str] = Counter()
    present: set[str] = set()
    for part in parts:
        wins.update(one.variant for one in fastest(part).values())
        present |= set(part["variant"])
    best = sorted(
        wins.keys() - {stats.BASELINE}, key=lambda name: (-wins[name], palette.order(name))
    )
    return sorted({*best[:most], stats.BASELINE} & present, key=palette.order)
