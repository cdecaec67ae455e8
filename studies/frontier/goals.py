"""Print which goals the variant `frontier` reaches, from rows of sweeps/frontier.yaml.

`python -m studies.frontier.goals data/recorded/h200/frontier.csv` prints two tables in Markdown:
the goal of each region by dtype, with its worst point, and geometric means over all points. Only
the goal that names an interval is judged by one; the others compare the measured values themselves.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis import InputError, compare, frame, stats
from analysis.markdown import table
from kernels import DTYPES

VARIANT = "frontier"
AWKWARD = (781, 8320, 50257, 151937)
LARGE_MB = 128.0  # read and written together
CACHE_MB = {"h100": 50.0, "h200": 60.0}  # L2, as torch reports it
KEY = ["dtype", "M", "N"]


class Goal(NamedTuple):
    """A region, a mask of its rows, and the smallest value that reaches the goal.

    A row without a value misses a goal that is not optional.
    """

    region: str
    text: str
    inside: pd.Series
    value: pd.Series
    least: float
    optional: bool = False


def goals(own: pd.DataFrame) -> list[Goal]:
    """Return every goal for the rows of `load`."""
    M, N, copy = own["M"], own["N"], own["of_copy"]
    moved_mb = 2 * M * N * own["dtype"].map(DTYPES) / 1e6
    large, few = moved_mb >= LARGE_MB, (M <= 64) & (N >= 131072)
    awkward = N.isin(AWKWARD) & large
    regular = large & N.between(256, 262144) & (N % 8 == 0) & ~N.isin(AWKWARD) & ~few
    long = N.between(65536, 262144) & (M >= 1024)
    in_eights = "128 MB and more, N = 256 … 262144 in eights"
    of_copy = "≥ {:.2f} of a copy"
    quack = "not slower than QuACK (interval not below {:.2f})"
    peers = "not slower than the best of torch and Liger (≥ {:.2f})"
    faster = "not slower than QuACK (≥ {:.2f})"
    cached = (moved_mb <= own["gpu"].map(CACHE_MB)) & ~few
    host = "host time of a call at most 1.5 times torch's (torch's over ours ≥ {:.2f})"
    over_best = own[["speedup", "over_liger"]].min(axis=1, skipna=False)
    over_host = own["torch_latency_us"] / own["latency_us"]
    return [
        Goal(in_eights, of_copy, regular, copy, 0.95),
        Goal(in_eights, quack, regular, own["over_quack_low"], 0.99, optional=True),
        Goal("N = 65536 … 262144, M ≥ 1024", of_copy, long, copy, 0.95),
        Goal("N ≤ 128, M ≥ 2^20", of_copy, (N <= 128) & (M >= 2**20), copy, 0.97),
        Goal("N = 781, 8320, 50257, 151937, 128 MB and more", of_copy, awkward, copy, 0.90),
        Goal("M ≤ 64, N ≥ 131072", of_copy, few, copy, 0.85),
        Goal("fits in L2, measured cold", peers, cached, over_best, 0.99),
        Goal("fits in L2, measured cold", faster, cached, own["over_quack"], 0.99, optional=True),
        Goal("wherever torch's was measured", host, N > 0, over_host, 1 / 1.5, optional=True),
    ]


def load(path: Path) -> pd.DataFrame:
    """Return the points of `frontier` with their speed over peers.

    Columns: `timed`, `torch_latency_us`, and for QuACK and Liger `over_…`, `over_…_low`
    and the Estimate `over_…_all`. Raises InputError for a table without rows of `frontier`.
    """
    points = stats.point_estimates(compare.load(path)).set_index(KEY)
    points["timed"] = frame.is_ranked(points)
    points["speedup_all"] = [stats.estimate(row) for row in points.to_dict("records")]
    own = points[points["variant"] == VARIANT].copy()
    if own.empty:
        raise InputError(f"{path}: no rows of {VARIANT}; give those of sweeps/frontier.yaml")
    if unknown := sorted(set(own["gpu"]) - set(CACHE_MB)):
        raise InputError(f"{path}: the size of L2 of {unknown[0]} is not known; add it to CACHE_MB")
    timed = points[points["timed"]]

    def beside(variant: str) -> pd.DataFrame:
        return timed[timed["variant"] == variant].reindex(own.index)

    own["torch_latency_us"] = beside("torch_softmax")["latency_us"]
    for name in ("quack", "liger"):
        pairs = zip(own["speedup_all"], beside(f"peer_{name}")["speedup_all"], strict=True)
        over = [a.minus(b) if isinstance(b, stats.Estimate) else None for a, b in pairs]
        own[f"over_{name}_all"] = over
        own[f"over_{name}"] = [e.value if e else np.nan for e in over]
        own[f"over_{name}_low"] = [e.interval[0] if e else np.nan for e in over]
    return own.reset_index()


def goal_table(own: pd.DataFrame) -> str:
    """Return a line for each goal and dtype."""
    lines = []
    for goal in goals(own):
        for dtype, part in own[goal.inside].groupby("dtype"):
            # A row without a time misses its goal, whatever the reason.
            measured = goal.value[part.index].where(part["timed"], 0.0)
            values = measured.dropna() if goal.optional else measured.fillna(0.0)
            if values.empty:
                continue
            worst = part.loc[values.idxmin()]
            reason = "not ranked" if worst["status"] == "ok" else worst["status"]
            there = f"{values.min():.3f}" if worst["timed"] else reason
            there = "not all ran" if np.isnan(measured[worst.name]) else there
            counts = len(values), (values >= goal.least).sum(), f"{worst['M']}x{worst['N']}"
            lines.append([goal.region, goal.text.format(goal.least), dtype, *counts, there])
    heads = ["region", "goal", "dtype", "points", "reached", "furthest from it", "there"]
    return table(heads, lines, "goals")


def mean_table(own: pd.DataFrame) -> str:
    """Return geometric means over all points, with 95 % confidence intervals."""
    lines = []
    for name, goal, value in (
        ("QuACK, where its row is ok", "≥ 1.05", "over_quack_all"),
        ("torch", "≥ 2", "speedup_all"),
    ):
        estimates = own.loc[own["timed"], value].dropna()
        if len(estimates):
            mean = stats.geometric_mean(estimates)
            low, high = mean.interval
            text = f"{low:.3f} … {high:.3f}"
            lines.append([name, goal, len(estimates), f"{mean.value:.3f}", text])
    return table(["over", "goal", "points", "geometric mean", "95 % interval"], lines, "means")


def main(argv: list[str] | None = None) -> None:
    """Print both tables, or exit with 2."""
    parser = argparse.ArgumentParser(prog="python -m studies.frontier.goals", description=__doc__)
    parser.add_argument("table", type=Path, help="CSV file of rows of the sweep frontier")
    try:
        own = load(parser.parse_args(argv).table)
    except InputError as error:
        parser.error(str(error))
    print(goal_table(own), mean_table(own), sep="\n\n")


if __name__ == "__main__":
    main()
