"""Print which goals the variant ``frontier`` reaches, from rows of sweeps/frontier.yaml.

``python -m studies.frontier.goals data/recorded/h200/frontier.csv`` prints two tables in Markdown:
the goal of each region by dtype, with its worst point, and geometric means over all points.
"""

import argparse
import math
from dataclasses import astuple
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
SPEEDUP = ["speedup", "speedup_low", "speedup_high"]


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
    """Return rows of ``frontier`` with ``timed``, ``torch_latency_us`` and their speed over peers.

    The columns ``over_quack`` and ``over_liger``, with the ends ``_low`` and ``_high`` of their
    intervals, come by way of torch's time, which every process measured. Raises ValueError for a
    table without rows of ``frontier``.
    """
    rows = pd.read_csv(path, dtype={"flags": "str"})
    carried = rows["flags"].fillna("")
    ranked = carried.map(lambda text: set(text.split()).isdisjoint(schema.UNRANKED))
    rows["timed"] = (rows["status"] == "ok") & ranked
    own = rows[rows["variant"] == VARIANT]
    if own.empty:
        raise ValueError(f"{path}: no rows of {VARIANT}; give those of sweeps/frontier.yaml")
    for variant, columns in (
        ("peer_quack", SPEEDUP),
        ("peer_liger", SPEEDUP),
        ("torch_softmax", ["latency_us"]),
    ):
        peer = variant.partition("_")[2] if columns is SPEEDUP else "torch"
        other = rows[rows["timed"] & (rows["variant"] == variant)].set_index(POINT)[columns]
        own = own.join(other.add_prefix(f"{peer}_"), on=POINT)
    for peer in ("quack", "liger"):
        theirs = own[[f"{peer}_{name}" for name in SPEEDUP]].to_numpy()
        pairs = zip(own[SPEEDUP].to_numpy(), theirs, strict=True)
        over = [
            astuple(statistics.quotient(statistics.Ratio(*a), statistics.Ratio(*b)))
            for a, b in pairs
        ]
        own[[f"over_{peer}{end}" for end in ("", "_low", "_high")]] = over
    return own


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
        ("QuACK, where its row is ok", "≥ 1.05", "over_quack", "over_quack"),
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
