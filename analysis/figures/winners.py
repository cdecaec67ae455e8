"""Which variants a figure puts in front: the fastest ones, and torch and rivals as the measure."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from analysis import palette, ratios, summary
from analysis.figures.controls import RIVAL

# What the order of a point's rows depends on; published rows do not have the last.
RANKED_BY = ["variant", "flags", "time_us", "speedup", "speedup_low", "speedup_high", "between_sd"]


@dataclass(frozen=True)
class Winner:
    """The fastest variant of a point; `sure` when its lead is, as in the summary."""

    variant: str
    sure: bool


def fastest(rows: pd.DataFrame) -> dict[int, Winner]:
    """The winner at every N, ranked as in the summary; of timed rows with one M for each N.

    A rival that is only there as a control wins nothing.
    """
    by_n = defaultdict(list)
    for row in rows[["N", *rows.columns.intersection(RANKED_BY)]].to_dict("records"):
        by_n[row["N"]].append(row)
    return {n: winner(by_n[n]) for n in sorted(by_n)}


def winner(records: list[dict]) -> Winner:
    """The winner among timed rows of one point; one that is alone is not sure."""
    records = [row for row in records if row.get("flags") != RIVAL] or records
    first, *rest = (records[i] for i in summary.order(records))
    sure = bool(rest) and summary.sure(ratios.speed_ratio(first, rest[0]))
    return Winner(first["variant"], sure)


def in_front(parts: Iterable[pd.DataFrame], most: int) -> list[str]:
    """torch, rivals, and the `most` others that are fastest at the most sizes, in palette's order.

    Each of `parts` as `fastest` takes them.
    """
    wins: Counter[str] = Counter()
    timed: set[str] = set()
    measures = {ratios.BASELINE}
    for rows in parts:
        wins.update(one.variant for one in fastest(rows).values())
        timed |= set(rows["variant"])
        measures |= set(rows.get("rival", []))
    best = sorted(wins.keys() - measures, key=lambda name: (-wins[name], palette.order(name)))
    return sorted({*best[:most], *measures} & timed, key=palette.order)
