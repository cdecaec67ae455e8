"""The grid of M and N: which kernel is fastest at the sizes of a cell, and by how much.

A line has the M from one power of four up to the next, and a column the N.
"""

from statistics import geometric_mean
from typing import NamedTuple

import pandas as pd

from analysis import palette, ranking, stats
from analysis.schema import CONTEST

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


class Grid(NamedTuple):
    """The cells of a GPU, operation and element type: a list for each M, None for no size."""

    gpu: str
    op: str
    dtype: str
    columns: list[str]
    lines: dict[str, list[Cell | None]]

    @property
    def address(self) -> str:
        """The beginning of the address of each of its questions."""
        return f"{self.gpu}/{self.op}/{self.dtype}"


def grids(sizes: pd.DataFrame) -> list[Grid]:
    """Return the grid of each GPU, operation and element type.

    `sizes`: lines of `ranking.over_sweeps`.
    """
    return [_grid(*key[1:], part) for key, part in sizes.groupby(CONTEST, sort=False)]


def _grid(gpu: str, op: str, dtype: str, sizes: pd.DataFrame) -> Grid:
    starts = {name: _power_of_four(sizes[name]) for name in ("M", "N")}
    cells = {key: _cell(part) for key, part in sizes.groupby([starts["M"], starts["N"]])}
    columns = sorted(set(starts["N"]))
    lines = {_label(m): [cells.get((m, n)) for n in columns] for m in sorted(set(starts["M"]))}
    return Grid(gpu, op, dtype, list(map(_label, columns)), lines)


def _power_of_four(sizes: pd.Series) -> pd.Series:
    """Return the largest power of four that is at most each size."""
    return sizes.map(lambda size: 4 ** ((int(size).bit_length() - 1) // 2))


def _label(start: int) -> str:
    """Return a power of four as `256`, `4K` or `1M`."""
    for factor, unit in ((2**20, "M"), (2**10, "K")):
        if start >= factor:
            return f"{start // factor}{unit}"
    return str(start)


def _cell(sizes: pd.DataFrame) -> Cell:
    raced = sizes[sizes["no_winner"] == ""]
    shown = raced if len(raced) else sizes
    counts = shown.groupby(["M", "N"]).size()
    m, n = counts.index[counts.argmax()]
    example, count = f"{m}x{n}", len(counts)
    where = example if count == 1 else f"{count} sizes such as {example}"
    if raced.empty:
        reason = sizes.loc[sizes["rank"] == 1, "no_winner"].iloc[0]
        return Cell("", "", "alone", example, f"{where}: {reason}")
    wins = raced.loc[raced["in_best_set"], "variant"].value_counts()
    kernel = palette.most_first(wins)[0]
    leads = ranking.leads(raced, kernel)
    lead = geometric_mean(leads["lead"])
    tied = 2 * leads["tie"].sum() >= len(leads) or lead < 1 + stats.TIE
    shade = "tie" if tied else f"lead{sum(lead >= level for level in LEVELS)}"
    text = f"{lead:.2f}" if lead < 10 else f"{lead:.0f}"
    rivals = ", ".join(leads["rival"].unique())
    summary = f"{where}: {kernel} is {text} times as fast as the next ({rivals})"
    if tied:
        text, summary = "tie", f"{where}: {kernel} ties with {rivals}"
    return Cell(kernel, text, shade, example, summary)


def as_table(grid: Grid) -> pd.DataFrame:
    """Return a grid as a table of text for report.md: `frontier 1.20x`."""
    lines = [[m, *map(_text, cells)] for m, cells in grid.lines.items()]
    return pd.DataFrame(lines, columns=["M \\ N", *grid.columns])


def _text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.shade == "alone":
        return "no rival"
    return f"{cell.kernel} {cell.lead}" + "x" * (cell.shade != "tie")
