"""Print which goals the variant ``frontier`` reaches, from rows of sweeps/frontier.yaml.

``python -m studies.frontier.goals data/recorded/h200/frontier.csv`` prints two tables in Markdown:
the goal of each region by dtype, with its worst point, and geometric means over all points.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis import compare, frame, statistics
from analysis.errors import InputError
from kernels import DTYPES

VARIANT = "frontier"
AWKWARD = (781, 8320, 50257, 151937)
LARGE_MB = 128.0  # read and written together
CACHE_MB = 50.0  # L2 of an H100 and an H200
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
    """Return every goal for the rows of ``load``."""
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
    faster, cached = "not slower than QuACK (≥ {:.2f})", (moved_mb <= CACHE_MB) & ~few
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
    """Return the points of ``frontier`` with their speed over peers.

    Columns: ``timed``, ``torch_latency_us``, and for QuACK and Liger ``over_…``, ``over_…_low``
    and the Estimate ``over_…_all``. Raises InputError for a table without rows of ``frontier``.
    """
    points = statistics.points(compare.load(path))
    points["timed"] = frame.timed(points)
    by_variant = {name: part.set_index(KEY) for name, part in points.groupby("variant")}
    if VARIANT not in by_variant:
        raise InputError(f"{path}: no rows of {VARIANT}; give those of sweeps/frontier.yaml")
    own, none = by_variant[VARIANT], points.iloc[:0].set_index(KEY)
    torch = by_variant.get("torch_softmax", none)
    own["torch_latency_us"] = torch.loc[torch["timed"], "latency_us"]
    mine = {key: statistics.estimate(row) for key, row in own.iterrows()}
    for peer in ("quack", "liger"):
        other = by_variant.get(f"peer_{peer}", none)
        over = {
            key: mine[key].minus(statistics.estimate(row))
            for key, row in other[other["timed"]].iterrows()
            if key in mine
        }
        own[f"over_{peer}_all"] = pd.Series(over, dtype=object)
        own[f"over_{peer}"] = pd.Series({k: e.value for k, e in over.items()}, dtype=float)
        own[f"over_{peer}_low"] = pd.Series(
            {k: e.interval[0] for k, e in over.items()}, dtype=float
        )
    own["speedup_all"] = pd.Series(mine, dtype=object)
    return own.reset_index()


def goal_lines(own: pd.DataFrame) -> list[str]:
    """Return the table of goals: one line for each goal and dtype."""
    lines = [
        "| region | goal | dtype | points | reached | furthest from it | there |",
        "|---|---|---|---|---|---|---|",
    ]
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
            reached = (values >= goal.least).sum()
            lines.append(
                f"| {goal.region} | {goal.text.format(goal.least)} | {dtype} | {len(values)} "
                f"| {reached} | {worst['M']}x{worst['N']} | {there} |"
            )
    return lines


def mean_lines(own: pd.DataFrame) -> list[str]:
    """Return the table of geometric means over all points, with 95 % confidence intervals."""
    lines = ["| over | goal | points | geometric mean | 95 % interval |", "|---|---|---|---|---|"]
    for name, goal, value in (
        ("QuACK, where its row is ok", "≥ 1.05", "over_quack_all"),
        ("torch", "≥ 2", "speedup_all"),
    ):
        estimates = own.loc[own["timed"], value].dropna()
        if len(estimates):
            mean = statistics.geometric_mean(estimates)
            low, high = mean.interval
            text = f"{len(estimates)} | {mean.value:.3f} | {low:.3f} … {high:.3f}"
            lines.append(f"| {name} | {goal} | {text} |")
    return lines


def main(argv: list[str] | None = None) -> None:
    """Print both tables, or exit with 2."""
    parser = argparse.ArgumentParser(prog="python -m studies.frontier.goals", description=__doc__)
    parser.add_argument("table", type=Path, help="CSV file of rows of the sweep frontier")
    try:
        own = load(parser.parse_args(argv).table)
    except InputError as error:
        parser.error(str(error))
    print("\n".join([*goal_lines(own), "", *mean_lines(own)]))


if __name__ == "__main__":
    main()
