"""Speed-up over torch as a heat map, variant by N."""

import math

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
from analysis.figures import caption, cell_text, winners
from analysis.figures.page import DOUBLE, SINGLE, Page, text_width
from analysis.figures.select import Panel, Selection, evenly, panels
from analysis.frame import timed

# Blue is faster than torch, red slower; the pair is told apart by the colour-blind.
COLOURS = "RdBu"
# Colours saturate at 2x and 1/2x, to tell 1.1 from 1.3; beyond that the number in the cell speaks.
LIMIT = 1.0
INTERVAL = "±: half of the 95 % interval"
FRAME = "frame: the fastest at that N, dashed: its lead may be chance"
TICKS = {"½x": 1 / 2, "⅔x": 2 / 3, "1x": 1, "1.5x": 1.5, "2x": 2}
COLUMNS = 14  # a long sweep is folded into bands of at most so many sizes
# Of more bands than this, in all panels, an even choice of sizes is drawn: the text of a cell takes
# milliseconds, and a picture may not be 65,536 pixels high.
MOST_BANDS = 12
# Inches: the least width of a cell, the most, and its height; around a band, and below it where M
# stands as well; right of it for the colour bar; that bar.
NARROW, WIDE, CELL, ABOVE, BELOW, OF_M, RIGHT = 0.36, 0.5, 0.25, 0.2, 0.4, 0.12, 0.66
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
        most = COLUMNS * max(1, MOST_BANDS // len(found))
        bands = [band for panel in found for band in _bands(panel, most)]
        heights = [len(cells.index) * CELL for _, cells in bands]
        names = [text_width(name, NAME) for _, cells in bands for name in cells.index]
        left = 0.12 + max(names)
        columns = max(len(cells.columns) for _, cells in bands)
        narrow = left + columns * NARROW + RIGHT <= SINGLE
        cell = ((SINGLE if narrow else DOUBLE) - left - RIGHT) / columns
        cell = min(max(cell, NARROW), WIDE)
        across = left + columns * cell + RIGHT
        below = BELOW + (OF_M if any(len(set(_rows(cells))) > 1 for _, cells in bands) else 0)
        page = Page(
            max(across, SINGLE if narrow else DOUBLE),
            max(sum(heights) + len(bands) * (ABOVE + below), ABOVE + BAR[0] + 0.1),
            caption.heading(selection, "speed-up over torch"),
            caption.fine_print(selection, len(found), total, *_notes(bands)),
        )
        y = 0.0
        for (title, cells), height in zip(bands, heights, strict=True):
            axes = page.axes(left, y + ABOVE, len(cells.columns) * cell, height)
            _band(axes, title, cells)
            y += ABOVE + height + below
        _colour_bar(page.axes(across - RIGHT + 0.12, ABOVE, BAR[1], BAR[0]))
        return page.figure


def _bands(panel: Panel, most: int) -> list[tuple[str, pd.DataFrame]]:
    """Pieces of a panel: title, and a frame variant by N whose cells are rows (dict) or None.

    Of more than ``most`` sizes an even choice; the title then says so.
    """
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
        found.append((title if start == 0 else "", pd.DataFrame(cells, names, part, object)))
    return found


def _band(axes: Axes, title: str, cells: pd.DataFrame) -> None:
    values = cells.map(cell_text.log_speedup).astype("float64")
    sns.heatmap(
        values.clip(-LIMIT, LIMIT),
        ax=axes,
        cmap=COLOURS,
        vmin=-LIMIT,
        vmax=LIMIT,
        annot=cells.map(cell_text.text).to_numpy(),
        fmt="",
        annot_kws={"fontsize": VALUE, "linespacing": 1.0},
        cbar=False,
        # Set below: seaborn would render the figure once per label to see whether they overlap.
        xticklabels=False,
        yticklabels=False,
        linewidths=0.5,
        linecolor="white",
    )
    axes.set_facecolor("0.93")
    # seaborn leaves cells without a value blank; those say why there is none.
    for i, j in zip(*np.nonzero(values.isna().to_numpy()), strict=True):
        word = cell_text.text(cells.iat[i, j])
        axes.text(j + 0.5, i + 0.5, word, ha="center", va="center", fontsize=WORD, color="0.3")
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
    rows = _rows(cells)
    varying = len(set(rows)) > 1
    if varying:  # each N has its own M
        labels = [f"{label}\n{m}" for label, m in zip(labels, rows, strict=True)]
    axes.set_xticks(np.arange(len(labels)) + 0.5, labels, fontsize=NAME)
    axes.set_yticks(np.arange(len(cells.index)) + 0.5, cells.index, fontsize=NAME)
    axes.tick_params(length=0)
    axes.set_title(title, loc="left")
    axes.set_xlabel("N (columns), and below it M (rows)" if varying else "N (columns)")
    axes.set_ylabel("")


def _rows(cells: pd.DataFrame) -> list[int]:
    """M of every column."""
    return [next(row["M"] for row in cells[n] if row) for n in cells.columns]


def _notes(bands: list[tuple[str, pd.DataFrame]]) -> list[str]:
    """What ± and frames mean, where there are any."""
    rows = [row for _, cells in bands for row in cells.to_numpy().flat if row and row["timed"]]
    found = [INTERVAL] if any(not math.isnan(cell_text.half_width(row)) for row in rows) else []
    return ["; ".join([*found, FRAME])] if rows else []


def _colour_bar(axes: Axes) -> None:
    scale = ScalarMappable(Normalize(-LIMIT, LIMIT), COLOURS)
    ticks = np.log2(list(TICKS.values()))
    colours = axes.figure.colorbar(scale, cax=axes, extend="both", ticks=ticks)
    colours.set_ticklabels(TICKS, fontsize=NAME)
    colours.set_label("time of torch / variant", fontsize=NAME)
    colours.outline.set_visible(False)
