"""Print how much several runs of the same points differ, and how `analysis compare` judges them.

`python -m studies.repeats RUN RUN …` takes folders of row files, or recorded tables, of one GPU,
even if their versions differ. Where `compare` finds a difference between a run and the previous
one, it is a false alarm.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import InputError, compare
from analysis.markdown import table
from analysis.schema import POINT
from kernels.terminal import replace_missing_characters

BANDS = {"below 5 µs": (0, 5), "5 to 10 µs": (5, 10), "10 µs and more": (10, np.inf)}
HEADS = ("calls", "points", "`time_us` spread, median", "95 % of points", "worst",
         "`speedup` spread, median", "worst", "A/A intervals that exclude 1",
         "rows flagged `throttled` or `clock_drift`")  # fmt: skip


def spread_table(rows: pd.DataFrame) -> str:
    """Return a table with a line per band of `time_us`, from the ok `rows` of all runs.

    Spread is (max - min) / median over the runs.
    """
    by = rows.groupby(list(POINT))[["time_us", "speedup"]]
    middle = by.median()
    points = ((by.max() - by.min()) / middle).assign(us=middle["time_us"])[by.size() > 1]
    excludes = (rows["aa_low"] > 1) | (rows["aa_high"] < 1)
    flagged = rows["flags"].str.contains(r"\b(?:throttled|clock_drift)\b")
    lines = []
    for name, (low, high) in BANDS.items():
        part = points[(points["us"] >= low) & (points["us"] < high)]
        inside = pd.MultiIndex.from_frame(rows[list(POINT)]).isin(part.index)
        if part.empty:
            continue
        time, speedup = part["time_us"], part["speedup"]
        spreads = (time.median(), time.quantile(0.95), time.max(), speedup.median(), speedup.max())
        counts = (f"{mask[inside].sum()} of {inside.sum()}" for mask in (excludes, flagged))
        lines.append([name, len(part), *(f"{s:.2%}" for s in spreads), *counts])
    return table(HEADS, lines, "spread")


def main(argv: list[str] | None = None) -> int:
    """Return exit code 0, or 2 for runs that cannot be compared."""
    parser = argparse.ArgumentParser(prog="python -m studies.repeats", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="RUN", help="row files or a table")
    paths = parser.parse_args(argv).paths
    try:
        if len(paths) < 2:
            raise InputError("one run was given; at least two are needed")
        every = [compare.load_run(path) for path in paths]
        limits = compare.Limits()
        changes = [compare.compare(*pair, limits, allow=True).changes for pair in pairwise(every)]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows = pd.concat(every, ignore_index=True)
    print(spread_table(rows[rows["status"] == "ok"]), end="\n\n")
    lines = [
        [f"{old.name}, {new.name}", *((change["change"] == name).sum() for name in compare.CLASSES)]
        for (old, new), change in zip(pairwise(paths), changes, strict=True)
    ]
    print(table(["runs", *compare.CLASSES], lines, "runs"))
    return 0


if __name__ == "__main__":
    replace_missing_characters()
    sys.exit(main())
