"""Speed-up over torch as a heat map, variant by N."""

import math

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from analysis import palette
from analysis.figures import axes as shared
from analysis.figures.select import Panel, Selection, evenly, panels
from analysis.frame import timed

# Blue is faster than torch, red slower; the pair is told apart by the colour-blind.
COLOURS = "RdBu"
# Colours saturate at 2x and 1/2x, to tell 1.1 from 1.3; beyond that the number in the cell speaks.
LIMIT = 1.0
TICKS = {"½x": 1 / 2, "⅔x": 2 / 3, "1x": 1, "1.5x": 1.5, "2x": 2}
COLUMNS = 14  # a long sweep is folded into bands of at most so many sizes
# Of more bands than this, in all panels, an even choice of sizes is drawn: the text of a cell takes
# milliseconds, and a picture may not be 65,536 pixels high.
MOST_BANDS = 12
# Inches: height of the colour bar; one cell, one letter of a variant's name, the margins, and the
# space between two bands.
BAR = 2.2
CELL, LETTER, RIGHT, TOP, BOTTOM, BETWEEN = (0.68, 0.36), 0.085, 1.1, 0.35, 0.55, 0.95


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
        heights = [len(band[1].index) * CELL[1] for band in bands]
        across = max(len(band[1].columns) for band in bands) * CELL[0]
        left = 0.15 + LETTER * max(len(name) for _, cells in bands for name in cells.index)
        needed = TOP + sum(heights) + len(bands) * BETWEEN + BOTTOM
        # Not narrower than heading and footer, not lower than the colour bar.
        size = (
            max(left + across + RIGHT, 9.0),
            max(needed, TOP + BETWEEN / 2 + BAR + BOTTOM + 0.2),
        )
        figure = Figure(figsize=size)
        y = size[1] - TOP
        for (title, rows), height in zip(bands, heights, strict=True):
            y -= BETWEEN / 2 + height
            width = len(rows.columns) * CELL[0]
            place = (left / size[0], y / size[1], width / size[0], height / size[1])
            _band(figure, place, title, rows)
            y -= BETWEEN / 2
        bar = figure.add_axes(
            (
                (left + across + 0.3) / size[0],
                1 - (TOP + BETWEEN / 2 + BAR) / size[1],
                0.15 / size[0],
                BAR / size[1],
            )
        )
        _colour_bar(figure, bar)
        shared.heading(figure, selection, "speed-up over torch")
        shared.footer(figure, selection, len(found), total)
        return figure


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


def _band(figure: Figure, place: tuple, title: str, cells: pd.DataFrame) -> None:
    axes = figure.add_axes(place)
    values = cells.map(_log_speedup).astype("float64")
    sns.heatmap(
        values.clip(-LIMIT, LIMIT),
        ax=axes,
        cmap=COLOURS,
        vmin=-LIMIT,
        vmax=LIMIT,
        annot=cells.map(_text).to_numpy(),
        fmt="",
        annot_kws={"fontsize": 6.5, "linespacing": 1.05},
        cbar=False,
        # Set below: seaborn would render the figure once per label to see whether they overlap.
        xticklabels=False,
        yticklabels=False,
        linewidths=0.6,
        linecolor="white",
    )
    axes.set_facecolor("0.93")
    # seaborn leaves cells without a value blank; those say why there is none.
    for i, j in zip(*np.nonzero(values.isna().to_numpy()), strict=True):
        word = _text(cells.iat[i, j])
        axes.text(j + 0.5, i + 0.5, word, ha="center", va="center", fontsize=6, color="0.35")
    powers = shared.all_powers(cells.columns)
    labels = [shared.size_label(n, powers) for n in cells.columns]
    rows = [next(row["M"] for row in cells[n] if row) for n in cells.columns]
    varying = len(set(rows)) > 1
    if varying:  # each N has its own M
        labels = [f"{label}\n{m}" for label, m in zip(labels, rows, strict=True)]
    axes.set_xticks(np.arange(len(labels)) + 0.5, labels)
    axes.set_yticks(np.arange(len(cells.index)) + 0.5, cells.index)
    axes.tick_params(length=0)
    axes.set_title(title, loc="left", fontsize=9)
    axes.set_xlabel("N (columns), and below it M (rows)" if varying else "N (columns)")
    axes.set_ylabel("")


def _log_speedup(row: dict | None) -> float:
    return math.log2(row["speedup"]) if row and row["timed"] else math.nan


def _text(row: dict | None) -> str:
    """The words of a cell."""
    if row is None:
        return ""
    if not row["timed"]:
        return _why(row).replace("_", "\n").replace(" ", "\n")
    if math.isnan(row["speedup"]):
        return "no torch"
    half = (row["speedup_high"] - row["speedup_low"]) / 2
    text = f"{row['speedup']:.2f}"
    return text if math.isnan(half) else f"{text}\n±{half:.1g}"


def _why(row: dict) -> str:
    """Why a row has no time that counts, in no more words than a cell holds."""
    if row["status"] != "ok":
        return row["status"]
    flags = row["unranked_by"].split()
    if not flags:
        return "no time"
    return flags[0] if len(flags) == 1 else "not ranked"


def _colour_bar(figure: Figure, bar) -> None:
    scale = ScalarMappable(Normalize(-LIMIT, LIMIT), COLOURS)
    colours = figure.colorbar(scale, cax=bar, extend="both", ticks=np.log2(list(TICKS.values())))
    colours.set_ticklabels(TICKS)
    colours.set_label("torch's time / variant's time", fontsize=8)
    colours.outline.set_visible(False)
