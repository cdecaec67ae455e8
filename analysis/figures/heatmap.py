"""Heat maps: the speed-up over torch, the fastest kernels of a GPU, changes between runs."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike
from seaborn.utils import relative_luminance

from analysis import compare, palette, ranking, schema
from analysis.figures import style
from analysis.frame import is_ranked
from analysis.markdown import percent
from analysis.panels import Selection, describe_m, rule_of_m, split_by_m

TICKS = (1.2, 2, 5, 20, 100)  # of the colours, blue for faster; red has their inverses
COLUMNS, LEAST = 14, 0.01  # of a band; the smallest half interval that is written
# Statuses that do not fit into a cell.
WORDS = {"unsupported": "unsup.", "unavailable": "unavail.", "interpreted": "interp."}
WORDS |= {"incorrect": "wrong", "out_of_memory": "memory"}
INTERVAL = f"±: half the 95 % interval with the spread between processes, from {percent(LEAST)} on"
MAP = (
    "colour, marker: the kernel that is the fastest at most sizes from that N to twice as many; "
    "number: the least % of a copy's speed there (published: of the data sheet's bandwidth); ⁺: "
    "others are the fastest at some of these sizes; ⁼: a tie; pale: no winner, because the usual "
    "one was not timed, or only torch beside it"
)
SIGNS = {compare.SLOWER: "▼", compare.FASTER: "▲", compare.UNCLEAR: "?"}


def draw_speedup(selection: Selection) -> Figure:
    """Draw the speed-up over torch of every variant (row) at every size (column).

    A point without a time shows why; an empty cell is a point outside the sweep. A published table
    is drawn where nothing was measured.
    """
    table = selection.own if len(selection.own) else selection.rows
    why = table["unranked_by"].str.replace(".* .*", "not ranked", regex=True)
    why = why.where(table["status"] == "ok", table["status"])
    table = table.assign(value=table["speedup"].where(is_ranked(table, any_board=True)))
    board = (table["unranked_by"] == schema.OTHER_BOARD).map({True: style.BOARD, False: ""})
    table["text"] = _texts(table, style.signs(selection, table["flags"]) + board, why)
    table["band"] = table["op"] + ", " + table["distribution"]
    best = table["in_best_set"]
    table["frame"] = np.select([best & table["tie"], best], ["--", "-"], "")
    note = "frame: the best set at that size over all sweeps, dashed where it has several variants"
    title = style.heading(selection, "Speed-up over torch")
    return _draw(table, title, style.footer(selection, [note, INTERVAL]), "time of torch / time")


def draw_changes(changes: pd.DataFrame) -> Figure:
    """Draw old time / new time of every point; `changes`: as of compare.judge."""
    names = {"ratio": "value", "low": "speedup_low", "high": "speedup_high"}
    table = changes.reset_index().rename(columns=names)
    table["text"] = _texts(table, table["change"].map(SIGNS).fillna(""), table["change"])
    moved = table["change"].isin([compare.SLOWER, compare.FASTER])
    table["frame"] = np.select([table["failed"], moved], ["-", "--"], "")
    signs = ", ".join(f"{sign} {name}" for name, sign in SIGNS.items())
    note = f"{signs}, no sign: {compare.SAME}; frame: failed, dashed: slower or faster; {INTERVAL}"
    title = f"NEW against OLD: {compare.counts(changes)}"
    table["band"] = table[["gpu", "op", "dtype", "distribution"]].agg(", ".join, axis=1)
    return _draw(table, title, [note], "old time / new time")


def draw_map(selection: Selection) -> Figure:
    """Draw the fastest variants of a GPU, and the least % of copy bandwidth that they reach.

    A line is a sweep and rule of M, under its operation and dtype; a column holds the sizes from a
    power of two up to the next. The fastest of a size is that over all sweeps.
    """
    gpu = selection.rows["gpu_name"].iloc[0].split(" (")[0]
    title = f"Which kernel of a sweep is the fastest where, and % of copy bandwidth: {gpu}"
    own = ranking.by_sweep(selection.own) if len(selection.own) else selection.rows
    timed, notes = own[own["rank"] == 1], style.footer(selection, [MAP])
    if timed.empty:
        return style.page(0, f"{title}: no timed rows", notes)
    timed = timed.assign(least=2 ** np.log2(timed["N"]).astype(int))
    timed["order"] = timed["dtype"].map([*schema.ITEMSIZE].index)
    lines = []  # label and rows; no rows under an operation and dtype
    for (op, _, dtype), group in timed.groupby(["op", "order", "dtype"]):
        lines.append((f"{op}, {dtype}", group[:0]))
        for sweep, rows_of_sweep in group.groupby("sweep"):
            name = "" if sweep == op else f"{sweep}: "
            lines += [(name + describe_m(part), part) for part in split_by_m(rows_of_sweep)]
    figure = style.page(0.175 * len(lines) + 1.1, title, notes)
    axes, handles = figure.subplots(), {}
    columns = sorted({n for _, part in lines for n in part["least"]})
    _grid(axes, list(map(style.size_label, columns)), [label for label, _ in lines])
    for y, (_, part) in enumerate(lines):
        axes.get_yticklabels()[y].set_fontweight("normal" if len(part) else "bold")
        for n, cell in part.groupby("least"):
            counts, x = cell["variant"].value_counts(), columns.index(n)
            name = min(counts.index, key=lambda each: (-counts[each], palette.order(each)))
            colour, marker = selection.styles[name]
            pale = 0.3 if (cell["no_winner"] != "").all() else 1
            text = f"{100 * cell['of_copy'].min():5.0f}"  # right of the marker
            text += "⁺" if len(counts) > 1 else "⁼" if cell["tie"].any() else ""
            ink = _cell(axes, x, y, 1 - pale * (1 - np.array(to_rgb(colour))), text)
            axes.plot(x + 0.09, y + 0.5, marker, ms=3.6, color=ink)
            handles[name] = Line2D([], [], color=colour, marker=marker, ls="none", label=name)
    axes.set_xlabel("N (columns)")
    place = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 5, "columnspacing": 1.2}
    axes.legend(handles=[handles[name] for name in sorted(handles, key=palette.order)], **place)
    return figure


def _texts(table: pd.DataFrame, signs: pd.Series, why: pd.Series) -> list[str]:
    """Return a ratio of about three digits and its marks, or why there is none."""
    texts = []
    halves = (table["speedup_high"] - table["speedup_low"]) / 2 / table["value"]
    for ratio, half, sign, word in zip(table["value"], halves, signs, why, strict=True):
        decimals = 2 - (ratio >= 10) - (ratio >= 100) + (ratio < 0.1)
        text = WORDS.get(word, word.replace("_", "\n").replace(" ", "\n")) or "no\ntorch"
        text = text if np.isnan(ratio) else f"{ratio:.{decimals}f}{sign}"
        texts.append(f"{text}\n±{percent(half)}" if half >= LEAST else text)
    return texts


def _draw(table: pd.DataFrame, title: str, notes: list[str], label: str) -> Figure:
    """Draw rows with `band`, `value`, `text` and `frame`, COLUMNS sizes beside each other."""
    bands = [band for name, part in table.groupby("band") for band in _bands(part, name)]
    lines = [len(names) for _, names, _ in bands]
    cell = 0.07 + 0.13 * (1 + table["text"].str.count("\n").max())  # inches
    titles = sum(0.45 + 0.2 * bool(name) for name, *_ in bands)
    figure = style.page(max(2.3, sum(lines) * cell + titles), title, notes)
    grid = figure.subplots(len(bands), 1, squeeze=False, height_ratios=lines).ravel()
    # the square root of the logarithm keeps 1.1 and 1.3 apart, and 20 and 100
    root = (lambda log: np.sign(log) * np.sqrt(np.abs(log)), lambda x: x * np.abs(x))
    norm = FuncNorm(root, *np.log([1 / TICKS[-1], TICKS[-1]]))
    look = ScalarMappable(norm, colormaps["RdBu"].with_extremes(bad="0.95"))
    for axes, (name, names, band) in zip(grid, bands, strict=True):
        columns = band.sort_values("x")["column"].unique()
        _grid(axes, columns, names)
        for row in band.itertuples():
            x, y = row.x - band["x"].min(), names.index(row.variant)
            _cell(axes, x, y, look.to_rgba(np.log(row.value)), row.text, row.frame)
        below = ", and below it M (rows)" if "\n" in columns[0] else ""
        axes.set(title=name, xlabel=f"N (columns){below}")
    bar = {"shrink": min(1, 3 / (sum(lines) * cell)), "anchor": (0, 1), "aspect": 25, "pad": 0.01}
    bar = figure.colorbar(look, ax=grid, extend="both", label=label, **bar)
    ticks = [*(1 / tick for tick in TICKS), 1, *TICKS]
    bar.set_ticks(np.log(ticks), labels=[f"{tick:.3g}" for tick in ticks])
    return figure


def _bands(part: pd.DataFrame, title: str) -> list[tuple[str, list[str], pd.DataFrame]]:
    """Return for each COLUMNS sizes of rows: a title, the variants, and rows with `x`, `column`."""
    rule = rule_of_m(part)
    column = part["N"].map(style.size_label)
    if part["M"].nunique() > 1:
        column += "\n" + part["M"].map(style.size_label)
    x = part.groupby(["N", "M"] if rule else ["M", "N"]).ngroup()
    wide = math.ceil((x.max() + 1) / math.ceil((x.max() + 1) / COLUMNS))
    names = sorted(part["variant"].unique(), key=palette.order)
    title += f", {rule}" if rule else ""
    bands = part.assign(x=x, column=column).groupby(x // wide)
    return [("" if number else title, names, band) for number, band in bands]


def _grid(axes: Axes, columns: Sequence[str], lines: Sequence[str]) -> None:
    axes.set(xlim=(0, len(columns)), ylim=(len(lines), 0), facecolor="0.95")
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axes.set_yticks(np.arange(len(lines)) + 0.5, lines)
    axes.grid(False)


def _cell(axes: Axes, x: float, y: int, ground: ArrayLike, text: str, frame: str = "") -> str:
    """Draw a cell with a text and a frame of that line style; return the colour of the text."""
    edge = {"edgecolor": "black", "lw": 1.1, "ls": frame, "zorder": 2, "clip_on": False}
    edge = edge if frame else {"edgecolor": "white", "lw": 0.6}
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=ground, **edge))
    ink = "black" if relative_luminance(ground) > 0.179 else "white"  # of the higher contrast
    axes.text(x + 0.5, y + 0.5, text, color=ink, ha="center", va="center", linespacing=0.95)
    return ink
