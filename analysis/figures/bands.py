"""A long heat map folded into bands, and how high they are."""

import math
from dataclasses import dataclass

import pandas as pd

from analysis import palette
from analysis.figures.select import Panel, evenly
from analysis.frame import timed

COLUMNS = 14  # sizes of a band
# Of more bands than this, in all panels, an even choice of sizes is drawn: the text of a cell takes
# milliseconds, and a picture may not be 65,536 pixels high.
MOST_BANDS = 12
# Inches: the height of a cell, and of one where the page would be higher than `PAGE` otherwise;
# above the first band of a panel (its title); below each for N and, where it varies, for M; and
# below the last of a panel, whose axis has a name.
CELL, LOW, PAGE = 0.25, 0.19, 8.5
ABOVE, BETWEEN, BELOW, OF_M = 0.2, 0.21, 0.4, 0.12


@dataclass(frozen=True)
class Band:
    """Cells of a panel, variant by N: rows (dict) or None; `title` above the `first` one's."""

    title: str
    cells: pd.DataFrame
    first: bool
    last: bool

    @property
    def rows(self) -> list[int]:
        """M of every column."""
        return [next(row["M"] for row in self.cells[n] if row) for n in self.cells.columns]

    @property
    def varying(self) -> bool:
        """Whether each N has its own M."""
        return len(set(self.rows)) > 1

    @property
    def around(self) -> tuple[float, float]:
        """Inches above and below the cells."""
        below = (BELOW if self.last else BETWEEN) + (OF_M if self.varying else 0)
        return ABOVE if self.first else 0, below


def fold(panels: list[Panel]) -> list[Band]:
    """The bands of all panels. Where some sizes are left out, the title says so."""
    most = COLUMNS * max(1, MOST_BANDS // len(panels))
    return [band for panel in panels for band in _bands(panel, most)]


def cell_height(bands: list[Band]) -> float:
    """Inches: low where the cells of usual height would not fit on one page."""
    lines = sum(len(band.cells.index) for band in bands)
    around = sum(sum(band.around) for band in bands)
    return LOW if len(bands) > 1 and lines * CELL + around > PAGE else CELL


def _bands(panel: Panel, most: int) -> list[Band]:
    rows = panel.own if len(panel.own) else panel.published
    rows = rows.assign(timed=timed(rows))
    names = sorted(rows["variant"].unique(), key=palette.order)
    every = sorted(rows["N"].unique().tolist())
    sizes = evenly(every, most)
    title = panel.title
    if len(sizes) < len(every):
        title += f"; {len(sizes)} of {len(every)} sizes are shown, evenly chosen"
    rows = rows[rows["N"].isin(sizes)]
    by_point = {(row["variant"], row["N"]): row for row in rows.to_dict("records")}
    count = math.ceil(len(sizes) / COLUMNS)
    each = math.ceil(len(sizes) / count)
    found = []
    for start in range(0, len(sizes), each):
        part = sizes[start : start + each]
        cells = [[by_point.get((name, n)) for n in part] for name in names]
        first, last = start == 0, start + each >= len(sizes)
        frame = pd.DataFrame(cells, names, part, object)
        found.append(Band(title if first else "", frame, first, last))
    return found
