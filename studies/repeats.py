"""How far do several runs of the same points lie apart?

``python -m studies.repeats [--allow] FOLDER FOLDER …`` takes the cells of two or more runs on one
GPU and prints, in Markdown: how far ``time_us`` and ``speedup`` lie apart between the runs, by the
length of the call; how many A/A intervals exclude 1; and what ``analysis compare`` says of each run
and the one before, where every difference is false.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.compare import FALSE_DISCOVERIES as RATE
from analysis.compare import MARGIN, THRESHOLD, match, runs, verdict
from analysis.compare.runs import POINT
from analysis.errors import InputError

BANDS = {"below 5 µs": (0, 5), "5 to 10 µs": (5, 10), "10 µs and more": (10, np.inf)}


def joined(rounds: list[runs.Run]) -> pd.DataFrame:
    """The ok rows of all runs, one below the other, with the number of the run."""
    parts = [run.rows.assign(run=number) for number, run in enumerate(rounds)]
    together = pd.concat(parts, ignore_index=True)
    return together[together["status"] == "ok"]


def spread(rows: pd.DataFrame) -> pd.DataFrame:
    """Per point: median ``time_us``, and (max - min) / median over the runs of two columns."""

    def apart(values: pd.Series) -> float:
        return (values.max() - values.min()) / values.median()

    groups = rows.groupby(POINT)
    found = groups.agg(
        time_us=("time_us", "median"), time=("time_us", apart), speedup=("speedup", apart)
    )
    return found[groups.size() > 1]


def table(rows: pd.DataFrame) -> str:
    """``spread`` and the A/A intervals, by length, in Markdown."""
    lines = [
        "| calls | points | `time_us` apart, median | 95 % of points | worst "
        "| `speedup` apart, median | worst | A/A intervals that exclude 1 | rows flagged "
        "`throttled` or `clock_drift` |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    found = spread(rows)
    excludes = (rows["aa_low"] > 1) | (rows["aa_high"] < 1)
    flagged = (
        rows["flags"].str.split().map(lambda f: not {"throttled", "clock_drift"}.isdisjoint(f))
    )
    for name, (low, high) in BANDS.items():
        part = found[(found["time_us"] >= low) & (found["time_us"] < high)]
        if part.empty:
            continue
        inside = pd.MultiIndex.from_frame(rows[POINT]).isin(part.index)
        lines.append(
            f"| {name} | {len(part)} | {part['time'].median():.2%} "
            f"| {part['time'].quantile(0.95):.2%} | {part['time'].max():.2%} "
            f"| {part['speedup'].median():.2%} | {part['speedup'].max():.2%} "
            f"| {excludes[inside].sum()} of {inside.sum()} "
            f"| {flagged[inside].sum()} of {inside.sum()} |"
        )
    return "\n".join(lines)


def verdicts(old: runs.Run, new: runs.Run, allow: bool = False) -> pd.Series:
    """How many points ``compare`` gives each verdict, with its default limits.

    Raises InputError for runs that were not measured alike, unless ``allow``.
    """
    limits = verdict.Limits(MARGIN / 100, THRESHOLD / 100, RATE / 100)
    matched = match.match(old, new, allow)
    return verdict.judge(matched, limits)["verdict"].value_counts()


def main(words: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.repeats", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="cells of a run")
    parser.add_argument(
        "--allow", action="store_true", help="also runs that were not measured alike"
    )
    given = parser.parse_args(words)
    folders = given.folders
    if len(folders) < 2:
        print("error: one folder was given; at least two runs are needed", file=sys.stderr)
        return 2
    try:
        rounds = [runs.load(folder) for folder in folders]
        counts = [verdicts(old, new, given.allow) for old, new in pairwise(rounds)]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(joined(rounds)), end="\n\n")
    print("| runs | " + " | ".join(verdict.CLASSES) + " |")
    print("|---|" + "---|" * len(verdict.CLASSES))
    for (old, new), of_pair in zip(pairwise(folders), counts, strict=True):
        cells = [str(of_pair.get(name, 0)) for name in verdict.CLASSES]
        print(f"| {old.name}, {new.name} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
