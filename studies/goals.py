"""Does the variant ``frontier`` reach its goals? From the rows of the sweep ``frontier``.

``python -m studies.goals data/recorded/h200/frontier.csv`` prints, in Markdown, every region of
shapes with its goal, and for each dtype whether it is reached, where it is furthest from it, and
what was measured there; then geometric means over all points.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis import frame
from analysis.errors import InputError

from . import recorded

OF = "frontier"
AWKWARD = (781, 8320, 50257, 151937)
LARGE_MB = 128.0  # read and written together
CACHE_MB = 50.0  # L2 of an H100 and an H200
FEW_ROWS, LONG = 64, 131072
Z = 1.96  # standard deviations on each side of a normal 95 % interval


def value_of_copy(row: pd.Series) -> float:
    """Share of the speed of a copy of the same bytes, in the same process."""
    return row["of_copy"]


def against_quack(row: pd.Series) -> float:
    """Lower end of the interval of QuACK's time over ours; NaN where QuACK did not run."""
    return row["rival_low"]


def against_best(row: pd.Series) -> float:
    """Time of the fastest of torch, QuACK and Liger over ours; NaN where one of them did not run.

    Liger's by way of torch's, which was timed beside either.
    """
    return row[["speedup", "rival_speedup", "over_liger"]].min(skipna=False)


def latency(row: pd.Series) -> float:
    """Torch's host time of a call over ours; NaN where torch was not measured."""
    return row["torch_latency_us"] / row["latency_us"]


@dataclass(frozen=True)
class Goal:
    """A region of shapes, what is asked there, and from which value on it is reached."""

    region: str
    asked: str
    inside: Callable[[pd.DataFrame], pd.Series]
    value: Callable[[pd.Series], float]
    least: float
    optional: bool = False  # only where there is a value: QuACK does not take every row


def large(table: pd.DataFrame) -> pd.Series:
    """Which rows move more than a cache holds."""
    return table["mb"] >= LARGE_MB


def _regular(table: pd.DataFrame) -> pd.Series:
    ordinary = table["N"].between(256, 262144) & (table["N"] % 8 == 0) & ~table["N"].isin(AWKWARD)
    return large(table) & ordinary & ~few(table)


def few(table: pd.DataFrame) -> pd.Series:
    """Which are of few long rows."""
    return (table["M"] <= FEW_ROWS) & (table["N"] >= LONG)


def _cached(table: pd.DataFrame) -> pd.Series:
    return (table["mb"] <= CACHE_MB) & ~few(table)


def _long(table: pd.DataFrame) -> pd.Series:
    return table["N"].between(65536, 262144) & (table["M"] >= 1024)


def _short(table: pd.DataFrame) -> pd.Series:
    return (table["N"] <= 128) & (table["M"] >= 2**20)


def _awkward(table: pd.DataFrame) -> pd.Series:
    return table["N"].isin(AWKWARD) & large(table)


def _any(table: pd.DataFrame) -> pd.Series:
    return table["N"] > 0


COPY, QUACK = "≥ {:.2f} of a copy", "not slower than QuACK (interval not below {:.2f})"
GOALS = (
    Goal("128 MB and more, N = 256 … 262144 in eights", COPY, _regular, value_of_copy, 0.95),
    Goal("128 MB and more, N = 256 … 262144 in eights", QUACK, _regular, against_quack, 0.99, True),
    Goal("N = 65536 … 262144, M ≥ 1024", COPY, _long, value_of_copy, 0.95),
    Goal("N ≤ 128, M ≥ 2^20", COPY, _short, value_of_copy, 0.97),
    Goal("N = 781, 8320, 50257, 151937, 128 MB and more", COPY, _awkward, value_of_copy, 0.90),
    Goal("M ≤ 64, N ≥ 131072", COPY, few, value_of_copy, 0.85),
    Goal(
        "fits in L2, measured cold",
        "not slower than the best of torch, QuACK, Liger (≥ {:.2f})",
        _cached,
        against_best,
        0.99,
    ),
    Goal(
        "wherever torch's was measured",
        "host time of a call at most 1.5 times torch's (torch's over ours ≥ {:.2f})",
        _any,
        latency,
        1 / 1.5,
        True,
    ),
)


def load(path: Path) -> pd.DataFrame:
    """Rows of ``frontier`` from a recorded table, with what other rows say of their points.

    Columns beside those of ``recorded.load``: ``timed``, ``over_liger`` and ``torch_latency_us``.
    Raises InputError for a table without such rows.
    """
    table = recorded.load(path)
    point = ["dtype", "M", "N"]
    table["timed"] = frame.timed(table)
    own = table[table["variant"] == OF]
    if own.empty:
        raise InputError(f"{path}: no rows of {OF}; give those of sweeps/frontier.yaml")
    timed = table[table["timed"]].drop_duplicates([*point, "variant"])
    for name, variant, column in (
        ("liger", "peer_liger", "speedup"),
        ("torch_latency_us", "torch_softmax", "latency_us"),
    ):
        others = timed.loc[timed["variant"] == variant, [*point, column]]
        own = own.merge(others.rename(columns={column: name}), how="left", on=point)
    return own.assign(over_liger=own["speedup"] / own["liger"])


def lines(own: pd.DataFrame) -> Iterator[str]:
    """Every goal for every dtype, as lines of a table in Markdown."""
    yield "| region | goal | dtype | points | reached | furthest from it | there |"
    yield "|---|---|---|---|---|---|---|"
    for goal in GOALS:
        for dtype, part in own[goal.inside(own)].groupby("dtype"):
            # a row without a time, whatever the reason, has not reached its goal
            found = part.apply(goal.value, axis=1).where(part["timed"], 0.0)
            values = found.dropna() if goal.optional else found.fillna(0.0)
            if values.empty:
                continue
            worst = part.loc[values.idxmin()]
            there = f"{values.min():.3f}" if worst["timed"] else worst["status"]
            there = "not all ran" if math.isnan(found[worst.name]) else there
            yield (
                f"| {goal.region} | {goal.asked.format(goal.least)} | {dtype} | {len(values)} "
                f"| {(values >= goal.least).sum()} | {worst['M']}x{worst['N']} | {there} |"
            )


def means(own: pd.DataFrame) -> Iterator[str]:
    """Geometric means of the speed-ups over all points, with 95 % intervals, in Markdown."""
    yield "| over | asked | points | geometric mean | 95 % interval |"
    yield "|---|---|---|---|---|"
    for name, asked, column, stem in (
        ("QuACK, where it runs", "≥ 1.05", "rival_speedup", "rival"),
        ("torch", "≥ 2", "speedup", "speedup"),
    ):
        part = own[own["timed"] & own[column].notna()]
        if part.empty:
            continue
        value, low, high = geometric_mean(part[column], part[f"{stem}_low"], part[f"{stem}_high"])
        yield f"| {name} | {asked} | {len(part)} | {value:.3f} | {low:.3f} … {high:.3f} |"


def geometric_mean(
    values: pd.Series, low: pd.Series, high: pd.Series
) -> tuple[float, float, float]:
    """(geometric mean, its low, its high) from values with 95 % intervals.

    The interval is what the measuring leaves open, not how the shapes differ.
    """
    logs, errors = values.map(math.log), (high / low).map(math.log) / (2 * Z)
    middle, error = logs.mean(), math.sqrt((errors**2).sum()) / len(logs)
    return math.exp(middle), math.exp(middle - Z * error), math.exp(middle + Z * error)


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.goals", description=__doc__)
    parser.add_argument("table", type=Path, help="CSV file of rows of the sweep frontier")
    try:
        own = load(parser.parse_args(words).table)
    except InputError as error:
        parser.error(str(error))
    print("\n".join([*lines(own), "", *means(own)]))


if __name__ == "__main__":
    main()
