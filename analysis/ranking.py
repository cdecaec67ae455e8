"""Rank the variants of every matrix: the best set, and how far the others are behind it."""

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from analysis import palette, rows, stats
from analysis.frame import is_ranked, read_output
from analysis.schema import BASELINE, NO_SPEEDUP, SWEEP_MATRIX

RANK_COLUMNS = ["rank", "in_best_set", "behind_best", "behind_low", "behind_high", "competitors"]
PLACE = ["rank", "behind_best", "behind_low", "behind_high", "competitors", "p"]
CARRIED = ["time_us", "time_us_q20", "time_us_q80", "throughput_gbps"]
CARRIED += ["speedup", "speedup_low", "speedup_high", "processes", "of_copy"]
OUTCOME = ["status", "flags", "unranked_by", "message"]
COLUMNS = [*SWEEP_MATRIX, "variant", *RANK_COLUMNS, *CARRIED, *OUTCOME]
MIN_MATRICES = 20  # of a performance profile; a share of fewer says little


def rank_variants(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return stats.point_estimates with the rank of each variant within its matrix.

    `rank` 1 is the fastest; only variants that rank have one. `competitors` counts these.
    `behind_best`: the time of a variant over that of the fastest, with its 95 % interval.
    `in_best_set`: not significantly slower than the fastest by more than stats.TIE, with p-values
    of `_rank_matrix` corrected over the sweep (Benjamini and Hochberg).

    A variant without a speed-up does not rank beside variants that have one (NO_SPEEDUP). Where no
    variant of a matrix has one, the times rank and nothing is significant.
    """
    table = _unrank_without_speedup(stats.point_estimates(measurements))
    matrices = table[is_ranked(table)].groupby(SWEEP_MATRIX, sort=False)
    lines = {i: place for _, matrix in matrices for i, place in _rank_matrix(matrix).items()}
    places = pd.DataFrame.from_dict(lines, orient="index", columns=PLACE, dtype="float64")
    table = table.join(places)
    table["competitors"] = table["competitors"].fillna(0).astype("int64")
    p = table["p"].dropna()
    for _, part in table.loc[p.index].groupby(["origin", "sweep", "gpu"]):
        p[part.index] = stats.benjamini_hochberg(p[part.index])
    slower = table.index.isin(p.index[p <= stats.LEVEL])
    return table.drop(columns="p").assign(in_best_set=table["rank"].notna() & ~slower)


def _unrank_without_speedup(table: pd.DataFrame) -> pd.DataFrame:
    has_speedup = is_ranked(table) & table["log"].notna()
    beside = has_speedup.groupby([table[name] for name in SWEEP_MATRIX]).transform("any")
    lacks = is_ranked(table) & ~has_speedup & beside
    table.loc[lacks, ["ranked", "unranked_by"]] = "false", NO_SPEEDUP
    return table


def _rank_matrix(matrix: pd.DataFrame) -> dict[int, tuple]:
    """Return the values of PLACE for each line of one matrix.

    `p` of the hypothesis that a variant ties with the fastest is multiplied by the number of the
    others: whichever variant looks fastest, the truly fastest one is in the best set with 95 %
    confidence (Hsu, Multiple Comparisons, 1996, chapter 4).
    """
    speeds = _estimates(matrix)
    first, *others = sorted(speeds, key=lambda i: (-speeds[i].log, matrix.at[i, "variant"]))
    lines = {first: (1.0, 1.0, math.nan, math.nan, len(speeds), math.nan)}
    for rank, i in enumerate(others, start=2):
        behind = speeds[first].minus(speeds[i])
        p = min(1.0, behind.p(math.log1p(stats.TIE)) * len(others))
        lines[i] = (float(rank), behind.value, *behind.interval, len(speeds), p)
    return lines


def _estimates(group: pd.DataFrame) -> dict[int, stats.Estimate]:
    """Return the speed of each line of one matrix: over torch, or else as 1 / µs."""
    if group["log"].isna().any():
        return {i: stats.Estimate(-math.log(us), math.nan) for i, us in group["time_us"].items()}
    values = group[["log", "variance", "degrees"]].itertuples(name=None)
    return {i: stats.Estimate(*each) for i, *each in values}


def win_tie_loss(table: pd.DataFrame) -> pd.DataFrame:
    """Return `wins`, `ties`, `losses` of each variant over the matrices with two competitors.

    A win is a best set of one variant; a tie is a place in a larger one. `table`: as of
    `rank_variants`.
    """
    table = table[table["competitors"] > 1]
    inside = table["in_best_set"]
    best = inside.groupby([table[name] for name in SWEEP_MATRIX]).transform("sum")
    counts = {"wins": inside & (best == 1), "ties": inside & (best > 1)}
    counts["losses"] = ~inside & table["rank"].notna()
    return table.assign(**counts).groupby("variant")[list(counts)].sum()


def profile(table: pd.DataFrame) -> pd.DataFrame:
    """Return the time of each variant over that of the fastest: a line per matrix, a column each.

    inf: the variant cannot run, or is wrong. NaN: it was not measured, or a flag or its board
    excludes its time. Matrices with fewer than two competitors are left out. `table`: as of
    `ranked`. The shares of a column up to x are a performance profile (Dolan and Moré, Mathematical
    Programming 91, 2002).
    """
    compete = table.groupby(SWEEP_MATRIX)["competitors"].transform("max") > 1
    behind = table[compete & ~excluded(table)].set_index([*SWEEP_MATRIX, "variant"])["behind_best"]
    return behind.fillna(math.inf).unstack("variant")


def excluded(table: pd.DataFrame) -> pd.Series:
    """Return whether a flag or the board excludes the time of each line of `rank_variants`."""
    return (table["status"] == "ok") & table["rank"].isna()


def within(behind: pd.Series, percent: float) -> float:
    """Return the share of a column of `profile` that is at most `percent` behind the fastest."""
    behind = behind.dropna()
    return float((behind <= 1 + percent / 100).mean())


def summarise(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of summary.csv, sorted by matrix and rank."""
    table = rank_variants(measurements).sort_values([*SWEEP_MATRIX, "rank", "variant"])
    return table[COLUMNS].reset_index(drop=True)


def write(measurements: pd.DataFrame, output: Path) -> None:
    """Write the summary as CSV: booleans as true/false, ranks whole, empty = not applicable."""
    table = summarise(measurements)
    table["rank"] = table["rank"].astype("Int64")
    table["in_best_set"] = table["in_best_set"].map({True: "true", False: "false"})
    rows.write(output, table.to_csv(index=False, lineterminator="\n"))


def read(path: Path) -> pd.DataFrame:
    """Return what `write` wrote; `rank` is float64 with NaN, booleans are bool."""
    text = [*(name for name in SWEEP_MATRIX if name not in ("M", "N")), "variant", *OUTCOME]
    return read_output(path, COLUMNS, text, "summary").astype({"in_best_set": "bool"})


def best_sets(rows: pd.DataFrame) -> dict[int, list[str]]:
    """Return the best set at every N, fastest first; empty where only one variant competes.

    `rows`: as of `rank_variants`, with one M for each N.
    """
    inside = rows[rows["in_best_set"]].sort_values("rank")
    sets = {n: part["variant"].tolist() for n, part in inside.groupby("N")}
    alone = set(inside.loc[inside["competitors"] < 2, "N"])
    return {n: [] if n in alone else names for n, names in sets.items()}


def highlighted(parts: Iterable[pd.DataFrame], most: int) -> list[str]:
    """Return torch, and the `most` other variants that are in the best set at the most sizes.

    They come in the order of the palette. `parts`: as of `rank_variants`.
    """
    parts = list(parts)
    counts = Counter(name for part in parts for name in part.loc[part["in_best_set"], "variant"])
    present = {name for part in parts for name in part["variant"]}
    best = sorted(counts.keys() - {BASELINE}, key=lambda name: (-counts[name], palette.order(name)))
    return sorted({*best[:most], BASELINE} & present, key=palette.order)
