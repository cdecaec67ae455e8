"""The grid of M and N: which kernel is fastest at the sizes of a cell, and by how much.

report.md, the page and a figure show it. A line has the M from one power of four up to the next,
and a column the N.
"""

from statistics import geometric_mean
from typing import NamedTuple

import pandas as pd

from analysis import ranking, stats

LEVELS = (1.05, 1.2, 1.5)  # leads from which a cell is one shade darker


class Cell(NamedTuple):
    """The sizes of a cell.

    `kernel` is the one that is most often the fastest, or tied with it. `lead` is `1.20`, how many
    times as fast as the fastest other kernel it is, or `tie`. Both are empty if no size had a rival
    besides torch. `shade` is the name of the cell's look: `alone`, `tie`, or `lead0` to `lead3`.
    `example` is the size with the most kernels, as `1024x4096`.
    """

    kernel: str
    lead: str
    shade: str
    example: str
    summary: str

    def __str__(self) -> str:
        """Return `frontier 1.20x`."""
        if self.shade == "alone":
            return "no rival"
        return f"{self.kernel} {self.lead}" + "x" * (self.shade != "tie")


def grids(sizes: pd.DataFrame) -> dict[tuple[str, str, str], pd.DataFrame]:
    """Return the cells by (GPU, operation, element type): a line for each M, a column for each N.

    Lines and columns have the size from which they begin; "" is no size. A cell of a GPU with
    recorded and measured rows covers both. `sizes`: lines of `ranking.over_sweeps`.
    """
    tables = {}
    for key, part in sizes.groupby(["gpu", "op", "dtype"], sort=False):
        starts = [part[name].map(_power_of_four) for name in ("M", "N")]
        cells = pd.Series({start: _cell(lines) for start, lines in part.groupby(starts)})
        tables[key] = cells.unstack(fill_value="")
    return tables


def label(start: int) -> str:
    """Return a power of four as `256`, `4K` or `1M`."""
    for factor, unit in ((2**20, "M"), (2**10, "K")):
        if start >= factor:
            return f"{start // factor}{unit}"
    return str(start)


def _power_of_four(size: int) -> int:
    """Return the largest power of four that is at most a size."""
    return 4 ** ((int(size).bit_length() - 1) // 2)


def _cell(sizes: pd.DataFrame) -> Cell:
    raced = sizes[sizes["no_winner"] == ""]
    shown = raced if len(raced) else sizes
    counts = shown.groupby(["M", "N"]).size()
    m, n = counts.index[counts.argmax()]
    example, count = f"{m}x{n}", len(counts)
    sizes_text = example if count == 1 else f"{count} sizes such as {example}"
    if raced.empty:
        reason = sizes.loc[sizes["rank"] == 1, "no_winner"].iloc[0]
        return Cell("", "", "alone", example, f"{sizes_text}: {reason}")
    kernel = ranking.wins(raced[raced["in_best_set"]]).index[0]
    leads = ranking.leads(raced, kernel)
    lead = geometric_mean(leads["lead"])
    tied = 2 * leads["tie"].sum() >= len(leads) or lead < 1 + stats.TIE
    shade = "tie" if tied else f"lead{sum(lead >= level for level in LEVELS)}"
    text = f"{lead:.2f}" if lead < 10 else f"{lead:.0f}"
    rivals = ", ".join(leads["rival"].unique())
    summary = f"{sizes_text}: {kernel} is {text} times as fast as the next ({rivals})"
    if tied:
        text, summary = "tie", f"{sizes_text}: {kernel} ties with {rivals}"
    return Cell(kernel, text, shade, example, summary)
