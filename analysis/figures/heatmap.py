"""Heat maps: the speed over torch, and who wins where."""

import itertools

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from analysis import grid, palette, ranking
from analysis.figures import findings, style
from analysis.figures.panels import Selection, rule_of_m
from analysis.frame import is_baseline, is_ranked, mark
from analysis.schema import ITEMSIZE, SWEEP_MATRIX

# Slower than the other is red, equal is sand, faster is blue; a cell without a time is white.
COLOURS = sns.blend_palette(["#a50026", "#f08a62", "#eadfb4", "#74add1", "#23408f"], as_cmap=True)
FAILED = "0.88"
WRITTEN = 16  # columns, at most, whose cells have room for a number
FEW_CELLS = 2000  # more would make an SVG of megabytes: they are stored as pixels
LABELS = 24  # names of columns, at most
MIN_KERNELS_FOR_BOLD = 3  # at a size; one of two would always be bold
WIDE = 4.0  # ratio at the end of the colours, unless most are larger
# Statuses that do not fit into a cell.
WORDS = {"unsupported": "unsup.", "unavailable": "unavail.", "interpreted": "interp."}
WORDS |= {"incorrect": "wrong", "out_of_memory": "memory", "compile_error": "compile"}
# Cells without a winner look as on the page: grey, and hatched where only torch was timed.
TIE, ALONE = "tie", "no rival besides torch"
TIED, HATCHED = "#d9d9d9", {"facecolor": "white", "edgecolor": "#b0b0b0", "hatch": "/////"}


def draw_speedup(selection: Selection) -> Figure:
    """Draw the speed over torch of every variant (line) at every size (column).

    Where a point has no time, the cell is grey and, if there is room, says why. A white cell was
    not measured. A published table is drawn where nothing was measured.
    """
    table = selection.own if len(selection.own) else selection.rows
    ranked = is_ranked(table, any_board=True)
    table = table.assign(value=table["speedup"].where(ranked), failed=~ranked)
    why = (
        table["unranked_by"].str.replace("_", "\n").where(table["status"] == "ok", table["status"])
    )
    signs = table["flags"].str.replace("stale", "").map(mark)
    table["text"] = table["value"].map(_number) + signs
    table["text"] = table["text"].where(ranked, why.replace(WORDS))
    table["line"] = _line_names(table)
    raced = table[ranked]
    raced = raced[
        raced.groupby(SWEEP_MATRIX)["variant"].transform("nunique") >= MIN_KERNELS_FOR_BOLD
    ]
    table["bold"] = ranking.is_near_best(raced).reindex(table.index, fill_value=False)
    finding = findings.winner(table[ranked]) if ranked.any() else "No kernel has a time"
    about = "Speed over torch; bold: within 1 % of the fastest; grey: no time; white: not measured"
    if old := style.older(selection.own):
        about += f"; {'some rows are of older code' if 'partly' in old else 'rows of older code'}"
    values = table.loc[~is_baseline(table), "value"]
    # else most cells would have the last colour
    widest = 2.0 ** np.ceil(np.log2(values.max())) if values.median() > WIDE else WIDE
    return _draw(table, finding, about, style.facts(selection), widest)


def draw_grid(selection: Selection) -> Figure:
    """Draw who wins where, and by how much: the cells of `grid.grids` of one operation.

    A colour is a kernel, and a number its lead over the next one, torch included. Ties are grey.
    """
    sizes = ranking.over_sweeps(selection.own)
    raced = sizes[sizes["no_winner"] == ""]
    if raced.empty:
        return style.nothing(selection, "Who wins where", "no two kernels were timed at one size")
    tables, titles, op = grid.grids(sizes), style.gpu_titles(sizes), sizes["op"].iloc[0]
    cells = pd.concat([table.stack() for table in tables.values()])
    cells = cells[cells != ""]
    looks = cells.map(_look).value_counts()
    kernels = palette.most_first(looks[~looks.index.isin((TIE, ALONE))])
    names = [*kernels, TIE, ALONE]
    colours = [*(selection.styles[name].colour for name in kernels), TIED, HATCHED["facecolor"]]
    ms, ns = (sorted(set(cells.index.get_level_values(level))) for level in (0, 1))
    gpus = sorted({gpu for gpu, *_ in tables})
    dtypes = [name for name in ITEMSIZE if name in {dtype for *_, dtype in tables}]
    figure, panels = plt.subplots(
        len(gpus), len(dtypes), sharex=True, sharey=True, squeeze=False, figsize=(style.WIDTH, 5)
    )
    for axes, (gpu, dtype) in zip(panels.flat, itertools.product(gpus, dtypes), strict=True):
        table = tables.get((gpu, op, dtype), pd.DataFrame()).reindex(ms, columns=ns).fillna("")
        codes = table.map(lambda cell: names.index(_look(cell)) if cell else np.nan)
        leads = table.map(lambda cell: cell and cell.lead)
        look = {"cmap": colours, "vmin": 0, "vmax": len(names) - 1, "annot_kws": {"size": 6}}
        sns.heatmap(codes, ax=axes, annot=leads, fmt="", cbar=False, linewidths=0.4, **look)
        for line, column in zip(*np.nonzero(codes == names.index(ALONE)), strict=True):
            axes.add_patch(Rectangle((column, line), 1, 1, linewidth=0, **HATCHED))
        axes.grid(False)
        axes.set(title=f"{titles[gpu]}, {dtype}", xlabel="N (columns) from", ylabel="M (rows) from")
        axes.set_xticks(np.arange(len(ns)) + 0.5, map(grid.label, ns))
        axes.set_yticks(np.arange(len(ms)) + 0.5, map(grid.label, ms))
        axes.tick_params(rotation=0, labelsize=6)
        axes.label_outer()
    keys = [*(Patch(color=colour) for colour in colours[:-1]), Patch(linewidth=0, **HATCHED)]
    about = (
        "The usual winner at the sizes of a cell, torch included; number: runner-up's time / "
        "winner's; white: not measured"
    )
    facts = style.facts(selection._replace(rows=selection.own))
    height = max(0.8, len(gpus) * 0.19 * len(ms) + 0.4 * (len(gpus) - 1))
    # The legend stands below the panels, as beside it the cells would have no room for numbers.
    below = {"loc": "upper left", "bbox_to_anchor": (0, -0.42 * len(gpus) / height)}
    below |= {"ncols": len(names), "frameon": False, "columnspacing": 1.2, "borderpad": 0}
    panels[-1, 0].legend(keys, names, fontsize=style.TEXT, handlelength=1, **below)
    finding, gaps = findings.usual_winner(raced), (0.15, 0.45)
    return style.finish(figure, height, finding, about, facts, (0.6, 0.1), gaps, below=0.68)


def _look(cell: grid.Cell) -> str:
    """Return the name in the legend of a cell's look: its kernel, TIE or ALONE."""
    return {"tie": TIE, "alone": ALONE}.get(cell.shade, cell.kernel)


def _line_names(table: pd.DataFrame) -> pd.Series:
    """Return the names of lines: the variant, and its operation and distribution if of several."""
    differing = [name for name in ("op", "distribution") if table[name].nunique() > 1]
    if not differing:
        return table["variant"]
    return table["variant"] + " (" + table[differing].agg(", ".join, axis=1) + ")"


def _number(ratio: float) -> str:
    """Return a ratio with about three digits; "" for NaN."""
    return "" if np.isnan(ratio) else f"{ratio:.{2 if ratio < 10 else 1 if ratio < 99.95 else 0}f}"


def _draw(table: pd.DataFrame, finding: str, about: str, facts: str, widest: float) -> Figure:
    """Draw rows with `line`, `value`, `text`, `failed` and `bold`: a column for each size."""
    by_n = bool(rule_of_m(table))
    sizes = table[["M", "N"]].drop_duplicates().sort_values(["N", "M"] if by_n else ["M", "N"])
    columns = pd.MultiIndex.from_frame(sizes)
    ordered = table.assign(place=table["variant"].map(palette.order))
    lines = ordered.sort_values(["op", "distribution", "place", "line"])["line"].unique()
    points = table.drop_duplicates(["line", "M", "N"]).set_index(["line", "M", "N"])
    cells = points.unstack(["M", "N"])
    value, text, failed, bold = (
        cells[name].reindex(lines, columns=columns) for name in ("value", "text", "failed", "bold")
    )
    is_written = len(columns) <= WRITTEN
    figure, axes = plt.subplots(figsize=(style.WIDTH, 4))
    # the bar ends with the values
    low, high = (
        2.0 ** round_to(np.log2(end))
        for round_to, end in ((np.floor, value.min(axis=None)), (np.ceil, value.max(axis=None)))
    )
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}
    cut = extend[low < 1 / widest, high > widest]
    low, high = np.nanmax([low, 1 / widest]), np.nanmin([high, widest])
    ticks = [1 / widest, widest**-0.5, 1, widest**0.5, widest]
    ticks = [tick for tick in ticks if low <= tick <= high]
    sns.heatmap(
        value.astype("float64"),
        ax=axes,
        cmap=COLOURS,
        norm=LogNorm(1 / widest, widest),
        annot=text if is_written else None,
        fmt="",
        annot_kws={"size": 6},
        cbar_ax=axes.inset_axes([1.01, 0, 0.012, 1]),
        cbar_kws={"extend": cut, "ticks": ticks, "format": f"{{x:.2g}}{style.TIMES}"},
        linewidths=0.4 if value.size <= FEW_CELLS else 0,
        rasterized=value.size > FEW_CELLS,
    )
    bar = axes.collections[0].colorbar
    bar.minorticks_off()
    if low < high:
        bar.ax.set_ylim(low, high)
    axes.grid(False)
    reasons = pd.DataFrame(1.0, lines, columns).where(failed.eq(True))
    if reasons.notna().any(axis=None):
        shown = {"annot": text if is_written else None, "fmt": "", "annot_kws": {"size": 5.5}}
        sns.heatmap(reasons, ax=axes, cmap=[FAILED], cbar=False, **shown)
    drawn = [*zip(*np.nonzero(value.notna().to_numpy()), strict=True)]
    for (line, column), written in zip(drawn, axes.texts, strict=False):
        written.set_fontweight("bold" if bold.iat[line, column] else "normal")
    names = [style.size_label(n) if by_n else f"{m} {style.TIMES} {n}" for m, n in columns]
    step = -(-len(columns) // LABELS)
    axes.set_xticks(np.arange(0, len(columns), step) + 0.5, names[::step])
    axes.set_yticks(np.arange(len(lines)) + 0.5, lines)
    letter, right = (style.TEXT - 1) * style.LETTER, 0.65
    left, below, longest = 0.2 + letter * max(map(len, lines)), 0.42, max(map(len, names))
    fits = by_n or letter * (longest + 2) * len(columns) < style.WIDTH - left - right
    axes.tick_params(axis="x", rotation=0 if fits else 90)
    axes.tick_params(axis="y", rotation=0)
    axes.set(xlabel="N (columns)" if by_n else f"M {style.TIMES} N", ylabel="")
    below += 0 if fits else letter * longest
    height = max(0.8, 0.24 * len(lines))
    return style.finish(
        figure, height, finding, about, facts, (left, right), above=0.1, below=below
    )
