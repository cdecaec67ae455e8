"""Speed-up over torch as a heat map, variant by N."""

import math

import matplotlib
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis.figures import axes as shared
from analysis.figures import bands, caption, cell_text, winners
from analysis.figures.bands import Band
from analysis.figures.ink import ink
from analysis.figures.page import DOUBLE, SINGLE, Page, text_width
from analysis.figures.select import Selection, panels

# Blue is faster than torch, red slower; the pair is told apart by the colour-blind.
COLOURS = "RdBu"
# Colours saturate at 2x and 1/2x, to tell 1.1 from 1.3; beyond that the number in the cell speaks.
LIMIT = 1.0
INTERVAL = "±: half of the 95 % interval"
FRAME = "frame: the fastest at that N, dashed: its lead may be chance"
TICKS = {"½x": 1 / 2, "⅔x": 2 / 3, "1x": 1, "1.5x": 1.5, "2x": 2}
# Inches: the least width of a cell, and the most; right of the bands for the colour bar; that bar.
NARROW, WIDE, RIGHT = 0.36, 0.5, 0.66
BAR = (1.1, 0.1)
NAME, VALUE, WORD = 6.5, 5.5, 4.8  # points


def draw_speedup(selection: Selection) -> Figure:
    """Heat map of `speedup`, log colours centred at 1, value and half-width of the 95 % interval.

    A point without a time that counts shows its status, or the flag that keeps it from ranking; an
    empty cell is a point that was not asked for. Rows that were measured here come first; a
    published table is drawn where they are not.
    """
    with matplotlib.rc_context({**shared.THEME, "axes.grid": False}):
        found, total = panels(selection, only_timed=False)
        drawn = bands.fold(found)
        high = bands.cell_height(drawn)
        heights = [len(band.cells.index) * high for band in drawn]
        names = [text_width(name, NAME) for band in drawn for name in band.cells.index]
        left = 0.12 + max(names)
        columns = max(len(band.cells.columns) for band in drawn)
        narrow = left + columns * NARROW + RIGHT <= SINGLE
        cell = ((SINGLE if narrow else DOUBLE) - left - RIGHT) / columns
        cell = min(max(cell, NARROW), WIDE)
        across = left + columns * cell + RIGHT
        page = Page(
            max(across, SINGLE if narrow else DOUBLE),
            max(sum(heights) + sum(sum(band.around) for band in drawn), bands.ABOVE + BAR[0] + 0.1),
            caption.heading(selection, "speed-up over torch"),
            caption.fine_print(selection, len(found), total, *_notes(drawn)),
        )
        y = 0.0
        for band, height in zip(drawn, heights, strict=True):
            above, below = band.around
            _band(page.axes(left, y + above, len(band.cells.columns) * cell, height), band)
            y += above + height + below
        _colour_bar(page.axes(across - RIGHT + 0.12, bands.ABOVE, BAR[1], BAR[0]))
        return page.figure


def _band(axes: Axes, band: Band) -> None:
    cells = band.cells
    values = cells.map(cell_text.log_speedup).astype("float64")
    sns.heatmap(
        values.clip(-LIMIT, LIMIT),
        ax=axes,
        cmap=COLOURS,
        vmin=-LIMIT,
        vmax=LIMIT,
        cbar=False,
        # Set below: seaborn would render the figure once per label to see whether they overlap.
        xticklabels=False,
        yticklabels=False,
        linewidths=0.5,
        linecolor="white",
    )
    axes.set_facecolor("0.93")
    # Not by seaborn: it writes in white where that has a contrast of 2.3, and nothing where a value
    # is missing; there the words say why.
    grounds = _scale().to_rgba(values.to_numpy())
    for (i, j), value in np.ndenumerate(values.to_numpy()):
        if math.isnan(value):
            look = {"fontsize": WORD, "color": "0.3"}
        else:
            look = {"fontsize": VALUE, "color": ink(grounds[i, j]), "linespacing": 1.0}
        place = (j + 0.5, i + 0.5, cell_text.text(cells.iat[i, j]))
        axes.text(*place, ha="center", va="center", **look)
    for j, n in enumerate(cells.columns):
        records = [row for row in cells[n] if row and row["timed"]]
        if len(records) > 1:
            won = winners.winner(records)
            frame = {"fill": False, "edgecolor": "black", "linewidth": 1.1, "clip_on": False}
            frame |= {"linestyle": "-" if won.sure else "--"}
            place = (j, list(cells.index).index(won.variant))
            axes.add_patch(Rectangle(place, 1, 1, **frame, gid=f"fastest {won.variant} {n}"))
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


def _notes(drawn: list[Band]) -> list[str]:
    """What ± and frames mean, where there are any."""
    cells = [cell for band in drawn for cell in band.cells.to_numpy().flat]
    rows = [row for row in cells if row and row["timed"]]
    found = [INTERVAL] if any(not math.isnan(cell_text.half_width(row)) for row in rows) else []
    return ["; ".join([*found, FRAME])] if rows else []


def _scale() -> ScalarMappable:
    return ScalarMappable(Normalize(-LIMIT, LIMIT), COLOURS)


def _colour_bar(axes: Axes) -> None:
    ticks = np.log2(list(TICKS.values()))
    colours = axes.figure.colorbar(_scale(), cax=axes, extend="both", ticks=ticks)
    colours.set_ticklabels(TICKS, fontsize=NAME)
    colours.set_label("time of torch / variant", fontsize=NAME)
    colours.outline.set_visible(False)
