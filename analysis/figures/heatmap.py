"""Speed-up over torch as a heat map, variant by N, in bands of a page's width."""

import math
from dataclasses import dataclass

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis import palette
from analysis.figures import axes as shared
from analysis.figures.layout import DOUBLE, SINGLE, Page, fine_print, heading, text_width
from analysis.frame import is_ranked, mark
from analysis.panels import Panel, Selection, evenly, panels

# Blue is faster than torch, red is slower; the colour-blind can tell them apart.
COLOURS = "RdBu"
# Colours saturate at 2x and 1/2x, so that 1.1 and 1.3 differ; beyond, the cell has the number.
LIMIT = 1.0
INTERVAL = "±: half of the 95 % interval"
FRAME = "frame: the best set at that N, dashed where it has several variants"
TICKS = {"½x": 1 / 2, "⅔x": 2 / 3, "1x": 1, "1.5x": 1.5, "2x": 2}
# Inches: the smallest and the largest width of a cell; the space at the right for the colour bar;
# the height and width of that bar.
NARROW, WIDE, RIGHT = 0.36, 0.5, 0.66
BAR = (1.1, 0.1)
NAME, VALUE, WORD = 6.5, 5.5, 4.8  # points

COLUMNS = 14  # sizes of a band
# Beyond this number of bands, over all panels, evenly chosen sizes are drawn: the text of a cell
# takes milliseconds, and a PNG is at most 65,536 pixels high.
MAX_BANDS = 12
# Inches: the height of a cell, the lower one of a page that would be higher than PAGE, and PAGE.
CELL, LOW, PAGE = 0.25, 0.19, 8.5
# Inches: above the first band of a panel (title), below a band (N), below the last band (N and the
# name of the axis), and for the line of M where M varies.
ABOVE, BETWEEN, BELOW, OF_M = 0.2, 0.21, 0.4, 0.12

# Statuses whose word is wider than a cell.
HYPHENATED = {
    "unsupported": "unsup-\nported",
    "interpreted": "inter-\npreted",
    "incorrect": "incor-\nrect",
    "unavailable": "unavail-\nable",
}
LEAST_HALF_WIDTH = 0.0005  # a smaller one would be 0 in three decimals


@dataclass(frozen=True)
class Band:
    """Cells of a panel, variant by N: a row (dict) or None. Only the `first` band has a title."""

    title: str
    cells: pd.DataFrame
    first: bool
    last: bool

    @property
    def rows(self) -> list[int]:
        """Return the M of every column."""
        return [next(row["M"] for row in self.cells[n] if row) for n in self.cells.columns]

    @property
    def varying(self) -> bool:
        """Return whether M differs between columns."""
        return len(set(self.rows)) > 1

    @property
    def around(self) -> tuple[float, float]:
        """Return the inches above and below the cells."""
        below = (BELOW if self.last else BETWEEN) + (OF_M if self.varying else 0)
        return ABOVE if self.first else 0, below


def draw_speedup(selection: Selection) -> Figure:
    """Draw `speedup` with log colours centred at 1, its value and half of its 95 % interval.

    A point without a time shows its status, or the reason why it does not rank. An empty cell is a
    point outside the sweep. A published table is drawn where nothing was measured.
    """
    with matplotlib.rc_context({**shared.THEME, "axes.grid": False}):
        chosen, total = panels(selection, only_timed=False)
        bands = fold(chosen)
        high = _cell_height(bands)
        heights = [len(band.cells.index) * high for band in bands]
        names = [text_width(name, NAME) for band in bands for name in band.cells.index]
        left = 0.12 + max(names)
        columns = max(len(band.cells.columns) for band in bands)
        narrow = left + columns * NARROW + RIGHT <= SINGLE
        cell = ((SINGLE if narrow else DOUBLE) - left - RIGHT) / columns
        cell = min(max(cell, NARROW), WIDE)
        across = left + columns * cell + RIGHT
        page = Page(
            max(across, SINGLE if narrow else DOUBLE),
            max(sum(heights) + sum(sum(band.around) for band in bands), ABOVE + BAR[0] + 0.1),
            heading(selection, "speed-up over torch"),
            fine_print(selection, len(chosen), total, *_notes(bands)),
        )
        y = 0.0
        for band, height in zip(bands, heights, strict=True):
            above, below = band.around
            _draw_band(page.axes(left, y + above, len(band.cells.columns) * cell, height), band)
            y += above + height + below
        _colour_bar(page.axes(across - RIGHT + 0.12, ABOVE, BAR[1], BAR[0]))
        return page.figure


def fold(panels: list[Panel]) -> list[Band]:
    """Return the bands of all panels; the title says where sizes are left out."""
    most = COLUMNS * max(1, MAX_BANDS // len(panels))
    return [band for panel in panels for band in _bands(panel, most)]


def _cell_height(bands: list[Band]) -> float:
    """Return the height in inches: LOW where cells of the usual height exceed a page."""
    lines = sum(len(band.cells.index) for band in bands)
    around = sum(sum(band.around) for band in bands)
    return LOW if len(bands) > 1 and lines * CELL + around > PAGE else CELL


def _bands(panel: Panel, most: int) -> list[Band]:
    rows = panel.own if len(panel.own) else panel.published
    rows = rows.assign(timed=is_ranked(rows))
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
    bands = []
    for start in range(0, len(sizes), each):
        part = sizes[start : start + each]
        cells = [[by_point.get((name, n)) for n in part] for name in names]
        first, last = start == 0, start + each >= len(sizes)
        frame = pd.DataFrame(cells, names, part, object)
        bands.append(Band(title if first else "", frame, first, last))
    return bands


def _draw_band(axes: Axes, band: Band) -> None:
    cells = band.cells
    values = cells.map(_log_speedup).astype("float64")
    sns.heatmap(
        values.clip(-LIMIT, LIMIT),
        ax=axes,
        cmap=COLOURS,
        vmin=-LIMIT,
        vmax=LIMIT,
        cbar=False,
        # Set below, because seaborn would render the figure once per label to find overlaps.
        xticklabels=False,
        yticklabels=False,
        linewidths=0.5,
        linecolor="white",
    )
    axes.set_facecolor("0.93")
    # seaborn would write white text at a contrast of 2.3, and nothing where a value is missing.
    # Here such a cell says why.
    grounds = _scale().to_rgba(values.to_numpy())
    for (i, j), value in np.ndenumerate(values.to_numpy()):
        if math.isnan(value):
            style = {"fontsize": WORD, "color": "0.3"}
        else:
            colour = shared.text_colour(grounds[i, j])
            style = {"fontsize": VALUE, "color": colour, "linespacing": 1.0}
        place = (j + 0.5, i + 0.5, cell_text(cells.iat[i, j]))
        axes.text(*place, ha="center", va="center", **style)
    for j, n in enumerate(cells.columns):
        best = [row["variant"] for row in cells[n] if row and row.get("in_best_set")]
        if not best or any(row and row.get("competitors") == 1 for row in cells[n]):
            continue
        frame = {"fill": False, "edgecolor": "black", "linewidth": 1.1, "clip_on": False}
        frame |= {"linestyle": "--" if len(best) > 1 else "-"}
        for name in best:
            place = (j, list(cells.index).index(name))
            axes.add_patch(Rectangle(place, 1, 1, **frame, gid=f"fastest {name} {n}"))
    powers = shared.all_powers(cells.columns)
    labels = [shared.size_label(n, powers) for n in cells.columns]
    if band.varying:
        labels = [f"{label}\n{m}" for label, m in zip(labels, band.rows, strict=True)]
    axes.set_xticks(np.arange(len(labels)) + 0.5, labels, fontsize=NAME)
    axes.set_yticks(np.arange(len(cells.index)) + 0.5, cells.index, fontsize=NAME)
    axes.tick_params(length=0)
    axes.set_title(band.title, loc="left")
    name = "N (columns), and below it M (rows)" if band.varying else "N (columns)"
    axes.set_xlabel(name if band.last else "")
    axes.set_ylabel("")


def cell_text(row: dict | None) -> str:
    """Return the speed-up and half of its interval, or why there is none; "" for None."""
    if row is None:
        return ""
    if not row["timed"]:
        why = _why_untimed(row)
        return HYPHENATED.get(why, why.replace("_", "\n").replace(" ", "\n"))
    if math.isnan(row["speedup"]):
        return "no\ntorch"
    value, half = f"{row['speedup']:.2f}{mark(row['flags'])}", _half_width(row)
    if math.isnan(half):
        return value
    small = half < LEAST_HALF_WIDTH
    return f"{value}\n±<.001" if small else f"{value}\n±{half:.3f}".replace("±0", "±")


def _log_speedup(row: dict | None) -> float:
    return math.log2(row["speedup"]) if row and row["timed"] else math.nan


def _half_width(row: dict) -> float:
    return (row["speedup_high"] - row["speedup_low"]) / 2


def _why_untimed(row: dict) -> str:
    """Return why a row does not count as timed, in words that fit into a cell."""
    if row["status"] != "ok":
        return row["status"]
    flags = row["unranked_by"].split()
    if not flags:
        return "no time"
    return flags[0] if len(flags) == 1 else "not ranked"


def _notes(bands: list[Band]) -> list[str]:
    """Return the line that explains ± and frames, if there are any."""
    cells = [cell for band in bands for cell in band.cells.to_numpy().flat]
    rows = [row for row in cells if row and row["timed"]]
    with_interval = any(not math.isnan(_half_width(row)) for row in rows)
    return ["; ".join([*([INTERVAL] if with_interval else []), FRAME])] if rows else []


def _scale() -> ScalarMappable:
    return ScalarMappable(Normalize(-LIMIT, LIMIT), COLOURS)


def _colour_bar(axes: Axes) -> None:
    ticks = np.log2(list(TICKS.values()))
    colours = axes.figure.colorbar(_scale(), cax=axes, extend="both", ticks=ticks)
    colours.set_ticklabels(TICKS, fontsize=NAME)
    colours.set_label("time of torch / variant", fontsize=NAME)
    colours.outline.set_visible(False)
