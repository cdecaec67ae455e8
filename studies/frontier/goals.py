"""Print which goals the variant ``frontier`` reaches, from rows of sweeps/frontier.yaml.

``python -m studies.frontier.goals data/recorded/h200/frontier.csv`` prints two tables in Markdown:
the goal of each region by dtype, with its worst point, and geometric means over all points.
"""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from analysis import schema, statistics
from kernels import DTYPES

VARIANT = "frontier"
AWKWARD = (781, 8320, 50257, 151937)
LARGE_MB = 128.0  # read and written together
CACHE_MB = 50.0  # L2 of an H100 and an H200
POINT = ["dtype", "M", "N"]


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
    peers = "not slower than the best of torch, QuACK, Liger (≥ {:.2f})"
    host = "host time of a call at most 1.5 times torch's (torch's over ours ≥ {:.2f})"
    over_best = own[["speedup", "rival_speedup", "over_liger"]].min(axis=1, skipna=False)
    over_host = own["torch_latency_us"] / own["latency_us"]
    return [
        Goal(in_eights, of_copy, regular, copy, 0.95),
        Goal(in_eights, quack, regular, own["rival_low"], 0.99, optional=True),
        Goal("N = 65536 … 262144, M ≥ 1024", of_copy, long, copy, 0.95),
        Goal("N ≤ 128, M ≥ 2^20", of_copy, (N <= 128) & (M >= 2**20), copy, 0.97),
        Goal("N = 781, 8320, 50257, 151937, 128 MB and more", of_copy, awkward, copy, 0.90),
        Goal("M ≤ 64, N ≥ 131072", of_copy, few, copy, 0.85),
        Goal("fits in L2, measured cold", peers, (moved_mb <= CACHE_MB) & ~few, over_best, 0.99),
        Goal("wherever torch's was measured", host, N > 0, over_host, 1 / 1.5, optional=True),
    ]


def load(path: Path) -> pd.DataFrame:
    """Return the rows of ``frontier`` with ``timed``, ``over_liger`` and ``torch_latency_us``.

    Liger's speed comes by way of torch's, which every process timed. Raises ValueError for a table
    without rows of ``frontier``.
    """
    rows = pd.read_csv(path, dtype={"flags": "str"})
    carried = rows["flags"].fillna("")
    ranked = carried.map(lambda text: set(text.split()).isdisjoint(schema.UNRANKED))
    rows["timed"] = (rows["status"] == "ok") & ranked
    own = rows[rows["variant"] == VARIANT]
    if own.empty:
        raise ValueError(f"{path}: no rows of {VARIANT}; give those of sweeps/frontier.yaml")
    for name, variant, column in (
        ("liger_speedup", "peer_liger", "speedup"),
        ("torch_latency_us", "torch_softmax", "latency_us"),
    ):
        other = rows[rows["timed"] & (rows["variant"] == variant)][[*POINT, column]]
        own = own.merge(other.rename(columns={column: name}), how="left", on=POINT)
    return own.assign(over_liger=own["speedup"] / own["liger_speedup"])


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
            there = "not all ran" if math.isnan(measured[worst.name]) else there
            reached = (values >= goal.least).sum()
            lines.append(
                f"| {goal.region} | {goal.text.format(goal.least)} | {dtype} | {len(values)} "
                f"| {reached} | {worst['M']}x{worst['N']} | {there} |"
            )
    return lines


def mean_lines(own: pd.DataFrame) -> list[str]:
    """Return the table of geometric means over all points, with 95 % confidence intervals."""
    lines = ["| over | goal | points | geometric mean | 95 % interval |", "|---|---|---|---|---|"]
    for name, goal, value, stem in (
        ("QuACK, where it runs", "≥ 1.05", "rival_speedup", "rival"),
        ("torch", "≥ 2", "speedup", "speedup"),
    ):
        part = own.loc[own["timed"] & own[value].notna(), [value, f"{stem}_low", f"{stem}_high"]]
        if part.empty:
            continue
        mean = statistics.geometric_mean(
            statistics.Ratio(*line) for line in part.itertuples(index=False)
        )
        interval = f"{mean.low:.3f} … {mean.high:.3f}"
        lines.append(f"| {name} | {goal} | {len(part)} | {mean.value:.3f} | {interval} |")
    return lines


def main(argv: list[str] | None = None) -> None:
    """Print both tables, or exit with 2."""
    parser = argparse.ArgumentParser(prog="python -m studies.frontier.goals", description=__doc__)
    parser.add_argument("table", type=Path, help="CSV file of rows of the sweep frontier")
    try:
        own = load(parser.parse_args(argv).table)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print("\n".join([*goal_lines(own), "", *mean_lines(own)]))


if __name__ == "__main__":
    main()
