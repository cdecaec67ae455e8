"""How far does the same copy lie apart in the processes of one sweep?

Every point times a copy of its matrix beside the kernel, so a sweep of several kernels times the
same copy in as many processes, minutes apart. ``python -m studies.copies TABLE.csv …`` takes tables
of rows (data/recorded/h200/fused_softmax.csv) and prints, in Markdown, how far those times lie
apart, by the bytes that a call moves.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import schema

BANDS_MB = (0, 10, 100, np.inf)
MATRIX = ["op", "dtype", "distribution", "M", "N"]


def apart(rows: pd.DataFrame) -> pd.DataFrame:
    """Per matrix timed by several processes: MB moved, µs apart, the same over the median."""
    timed = rows[rows["copy_us"].notna()]
    groups = timed.groupby(MATRIX)["copy_us"]
    found = pd.DataFrame({"us": groups.max() - groups.min(), "median": groups.median()})
    found = found[groups.size() > 1].reset_index()
    matrices = 2 + found["op"].str.endswith("_backward")  # a backward reads two
    found["mb"] = matrices * found["M"] * found["N"] * found["dtype"].map(schema.ITEMSIZE) / 1e6
    return found.assign(share=found["us"] / found["median"])


def table(paths: list[Path]) -> str:
    """``apart`` of every table, by bands of bytes, in Markdown."""
    lines = [
        "| rows | a call moves | matrices | apart, median | worst | worst, of the time |",
        "|---|---|---|---|---|---|",
    ]
    for path in paths:
        found = apart(pd.read_csv(path))
        for low, high in pairwise(BANDS_MB):
            part = found[(found["mb"] >= low) & (found["mb"] < high)]
            if part.empty:
                continue
            band = f"{low} to {high} MB" if np.isfinite(high) else f"{low} MB and more"
            lines.append(
                f"| {path.stem} | {band} | {len(part)} | {part['us'].median():.2f} µs "
                f"| {part['us'].max():.2f} µs | {part['share'].max():.1%} |"
            )
    return "\n".join(lines)


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.copies", description=__doc__)
    parser.add_argument("tables", nargs="+", type=Path, metavar="TABLE", help="CSV file of rows")
    print(table(parser.parse_args(words).tables))


if __name__ == "__main__":
    main()
