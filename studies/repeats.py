"""Print how much several runs of the same points differ, and what ``analysis compare`` makes of it.

``python -m studies.repeats [--allow] RUN RUN …`` takes folders of cells, or recorded tables, of one
GPU. It prints, in Markdown, the spread of ``time_us`` and ``speedup`` by the length of the call,
the share of A/A intervals that exclude 1, and the classes of ``compare`` for each run and the one
before, where every difference is a false alarm.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import __main__ as cli
from analysis import compare
from analysis.errors import InputError
from analysis.schema import POINT

BANDS = {"below 5 µs": (0, 5), "5 to 10 µs": (5, 10), "10 µs and more": (10, np.inf)}
HEADS = (
    *("calls", "points", "`time_us` spread, median", "95 % of points", "worst"),
    *("`speedup` spread, median", "worst", "A/A intervals that exclude 1"),
    "rows flagged `throttled` or `clock_drift`",
)


def spread_table(rows: pd.DataFrame) -> list[str]:
    """Return a line per band of ``time_us``; ``rows``: the ok rows of all runs.

    Spread is (max - min) / median over the runs.
    """

    def spread(values: pd.Series) -> float:
        return (values.max() - values.min()) / values.median()

    groups = rows.groupby(list(POINT))
    points = groups.agg(
        time_us=("time_us", "median"), time=("time_us", spread), speedup=("speedup", spread)
    )[groups.size() > 1]
    excludes = (rows["aa_low"] > 1) | (rows["aa_high"] < 1)
    flagged = rows["flags"].str.contains(r"\b(?:throttled|clock_drift)\b")
    lines = [list(HEADS), ["---"] * len(HEADS)]
    for name, (low, high) in BANDS.items():
        part = points[(points["time_us"] >= low) & (points["time_us"] < high)]
        inside = pd.MultiIndex.from_frame(rows[list(POINT)]).isin(part.index)
        if part.empty:
            continue
        time, speedup = part["time"], part["speedup"]
        spreads = (time.median(), time.quantile(0.95), time.max(), speedup.median(), speedup.max())
        counts = (f"{mask[inside].sum()} of {inside.sum()}" for mask in (excludes, flagged))
        lines.append([name, str(len(part)), *(f"{s:.2%}" for s in spreads), *counts])
    return [f"| {' | '.join(cells)} |" for cells in lines]


LIMITS = compare.Limits(
    *(each / 100 for each in (cli.MARGIN, cli.THRESHOLD, cli.FALSE_DISCOVERIES))
)


def main(argv: list[str] | None = None) -> int:
    """Return exit code 0, or 2 for runs that cannot be compared."""
    parser = argparse.ArgumentParser(prog="python -m studies.repeats", description=__doc__)
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="RUN", help="cells or table of a run"
    )
    parser.add_argument("--allow", action="store_true", help="accept runs not measured alike")
    given = parser.parse_args(argv)
    if len(given.paths) < 2:
        print("error: one run was given; at least two are needed", file=sys.stderr)
        return 2
    try:
        every = [compare.load(path) for path in given.paths]
        changes = [
            compare.compare(old, new, LIMITS, given.allow).changes for old, new in pairwise(every)
        ]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows = pd.concat(every, ignore_index=True)
    print("\n".join(spread_table(rows[rows["status"] == "ok"])), end="\n\n")
    print("| runs | " + " | ".join(compare.CLASSES) + " |")
    print("|---|" + "---|" * len(compare.CLASSES))
    for (old, new), of_pair in zip(pairwise(given.paths), changes, strict=True):
        cells = [str((of_pair["verdict"] == name).sum()) for name in compare.CLASSES]
        print(f"| {old.name}, {new.name} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
