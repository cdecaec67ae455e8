"""Rank the variants of every matrix: the best set, and how far the others are behind it."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import frame, palette, stats
from analysis.frame import different_words, is_ranked
from analysis.schema import BASELINE, SWEEP_MATRIX

RANK_COLUMNS = ["rank", "in_best_set", "behind_best", "behind_low", "behind_high", "competitors"]
PLACE = ["rank", "behind_best", "behind_low", "behind_high", "competitors", "p"]
CARRIED = ["time_us", "time_us_q20", "time_us_q80", "throughput_gbps"]
CARRIED += ["speedup", "speedup_low", "speedup_high", "processes", "of_copy", "of_meet"]
OUTCOME = ["status", "flags", "unranked_by", "message"]
COLUMNS = [*SWEEP_MATRIX, "variant", *RANK_COLUMNS, *CARRIED, *OUTCOME]
# What the variants of one size share over all sweeps.
SHAPE = ["origin", "gpu", "op", "dtype", "M", "N"]
BETWEEN_SWEEPS = 0.02  # relative, of a speed-up, where no variant is in two sweeps
MIN_MATRICES = 20  # of a performance profile; a share of fewer says little


def rank_variants(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return stats.point_estimates with the rank of each variant within its matrix.

    `rank` 1 is the fastest; only variants that rank have one. `competitors` counts these.
    `behind_best`: the time of a variant over that of the fastest, with its 95 % interval.
    `in_best_set`: not significantly slower than the fastest by more than stats.TIE, with p-values
    of `_rank` corrected over the sweep (Benjamini and Hochberg).
    """
    table = stats.point_estimates(measurements)
    return _with_places(table, table[is_ranked(table)].assign(matrix=0), SWEEP_MATRIX)


def over_sweeps(table: pd.DataFrame) -> pd.DataFrame:
    """Return one line per variant of each SHAPE, ranked over every sweep, input and board.

    `table`: of `rank_variants`. Rows that only their board excludes rank here. Variants of one
    matrix on one board are compared within it. Others are compared by their speed-ups over torch,
    whose variance then includes that between sweeps and boards. `speedup_low` and `speedup_high`
    are the ends over all sweeps; `sweep` and `flags` have the words of all.
    """
    rows = table[is_ranked(table, any_board=True)]
    board = rows["gpu_uuid"].where(rows["rank"].isna(), "")
    rows = rows.assign(matrix=rows.assign(board=board).groupby([*SWEEP_MATRIX, "board"]).ngroup())
    groups = rows.groupby([*SHAPE, "variant"], sort=False)
    merged = groups.first().drop(columns=[*PLACE[:-1], "in_best_set", "matrix"])
    merged[CARRIED] = groups[CARRIED].median()
    merged["speedup"] = np.exp(groups["log"].mean())
    merged["speedup_low"] = groups["speedup_low"].min()
    merged["speedup_high"] = groups["speedup_high"].max()
    merged[["sweep", "flags"]] = groups[["sweep", "flags"]].agg(different_words)
    # variants of several sweeps show how much a speed-up over torch varies between these
    varied = rows[rows["variant"] != BASELINE].groupby([*SHAPE, "variant"])["log"].var()
    between = varied.groupby(["origin", "gpu"]).mean().fillna(BETWEEN_SWEEPS**2)
    return _with_places(merged.reset_index(), rows, SHAPE, between.to_dict())


def _with_places(
    table: pd.DataFrame, rows: pd.DataFrame, key: list[str], between: Mapping | None = None
) -> pd.DataFrame:
    """Return `table` with RANK_COLUMNS, from the ranked `rows` of every group of `key`."""
    lines = []
    for each, group in rows.groupby(key, sort=False):
        places = _rank(group, (between or {}).get(each[:2], 0.0))
        lines += [(*each, name, *place) for name, place in places.items()]
    on = [*key, "variant"]
    places = pd.DataFrame(lines, columns=[*on, *PLACE]).astype(table.dtypes[on].to_dict())
    table = table.merge(places.astype(dict.fromkeys(PLACE, "float64")), how="left", on=on)
    table["competitors"] = table["competitors"].fillna(0).astype("int64")
    p = table["p"].dropna()
    for _, part in table.loc[p.index].groupby([n for n in ("origin", "sweep", "gpu") if n in key]):
        p[part.index] = stats.benjamini_hochberg(p[part.index])
    slower = table.index.isin(p.index[p <= stats.LEVEL])
    return table.drop(columns="p").assign(in_best_set=table["rank"].notna() & ~slower)


def _rank(rows: pd.DataFrame, between: float = 0.0) -> dict[str, tuple]:
    """Return the values of PLACE for each variant of `rows`, which have one size.

    `p` is of the hypothesis that a variant ties with the fastest, times the number of the other
    variants (Bonferroni). The truly fastest variant is then in the best set with 95 % confidence
    (Hsu, Multiple Comparisons, 1996, chapter 4). `between`: the variance of ln(torch /
    variant) between matrices, for variants that share none.
    """
    found: dict[str, dict[int, stats.Estimate]] = {}
    for row in rows[[*stats.Estimate._fields, "variant", "matrix"]].to_dict("records"):
        found.setdefault(row["variant"], {})[row["matrix"]] = stats.estimate(row)
    speeds = {name: stats.geometric_mean(each.values()) for name, each in found.items()}
    first, *others = sorted(speeds, key=lambda name: (-speeds[name].log, name))
    lines = {first: (1.0, 1.0, math.nan, math.nan, len(speeds), math.nan)}
    for rank, name in enumerate(others, start=2):
        same = [found[first][m].over(found[name][m]) for m in found[first].keys() & found[name]]
        behind = stats.geometric_mean(same) if same else speeds[first].over(speeds[name])
        if not same:
            behind = behind._replace(variance=behind.variance + 2 * between)
        # the means of all matrices order the variants; in those that both have, it may be ahead
        p = behind.p_beyond(math.log1p(stats.TIE)) * len(others) if behind.log > 0 else 1.0
        lines[name] = (float(rank), behind.value, *behind.interval, len(speeds), min(1.0, p))
    return lines


def profile(table: pd.DataFrame) -> pd.DataFrame:
    """Return the time of each variant over that of the fastest: a line per matrix, a column each.

    inf: the variant cannot run, or is wrong. NaN: it was not timed here, or a flag or its board
    excludes its time. Matrices with fewer than two competitors are left out. `table`: as of
    `rank_variants`. The shares of a column up to x are a performance profile (Dolan and Moré,
    Mathematical Programming 91, 2002).
    """
    compete = table.groupby(SWEEP_MATRIX)["competitors"].transform("max") > 1
    known = table["rank"].notna() | ~table["status"].isin(["ok", "unavailable", "interpreted"])
    behind = table[compete & known].set_index([*SWEEP_MATRIX, "variant"])["behind_best"]
    return behind.fillna(math.inf).unstack("variant")


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
    frame.write(output, table)


def highlighted(table: pd.DataFrame, most: int) -> list[str]:
    """Return torch, and the `most` other variants that are in the best set at the most sizes.

    They come in the order of the palette. `table`: as of `rank_variants`.
    """
    wins = table["in_best_set"] & (table["variant"] != BASELINE)
    counts = table.loc[wins, "variant"].value_counts()
    best = sorted(counts.index, key=lambda name: (-counts[name], palette.order(name)))
    return sorted({*best[:most], BASELINE} & set(table["variant"]), key=palette.order)
