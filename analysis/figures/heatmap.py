"""Heat maps: the speed over torch, the lead over the best rival, changes between two runs."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import compare, palette, ranking
from analysis.figures import findings, style
from analysis.frame import is_baseline, is_ranked, mark, newest_code
from analysis.panels import Selection, rule_of_m
from analysis.schema import ITEMSIZE, SIZE

# Slower than the other is red, equal is sand, faster is blue; a cell without a time is white.
COLOURS = sns.blend_palette(["#a50026", "#f08a62", "#eadfb4", "#74add1", "#23408f"], as_cmap=True)
FAILED = "0.88"
WRITTEN = 16  # columns, at most, whose cells have room for a number
FEW_CELLS = 2000  # more would make an SVG of megabytes: they are stored as pixels
LABELS = 24  # names of columns, at most
WIDE, NARROW = 4.0, 1.5  # ratios at the ends of the colours
# Statuses that do not fit into a cell.
WORDS = {"unsupported": "unsup.", "unavailable": "unavail.", "interpreted": "interp."}
WORDS |= {"incorrect": "wrong", "out_of_memory": "memory", "compile_error": "compile"}
SIGNS = {compare.SLOWER: "▼", compare.FASTER: "▲", compare.UNCLEAR: "?"}
BIN = 2  # doublings of M and of N that share a cell of the grid


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
    table["line"] = _line_names(table, ["op", "distribution"])
    fastest = table.groupby(["op", "distribution", "M", "N"])["value"].transform("max")
    table["bold"] = table["value"] >= fastest / findings.NEAR
    finding = findings.winner(table[ranked]) if ranked.any() else "No kernel has a time"
    about = "Speed over torch; bold: within 1 % of the fastest; grey: no time; white: not measured"
    values = table.loc[~is_baseline(table), "value"]
    # else most cells would have the last colour
    widest = 2.0 ** np.ceil(np.log2(values.max())) if values.median() > WIDE else WIDE
    return _draw(table, finding, about, style.facts(selection), widest)


def draw_changes(changes: pd.DataFrame) -> Figure:
    """Draw old time / new time of every point; `changes`: of compare.judge."""
    table = changes.reset_index().rename(columns={"ratio": "value"})
    signs = table["change"].map(SIGNS).fillna("")
    table["text"] = (table["value"].map(_number) + signs).where(
        table["value"].notna(), table["change"]
    )
    table["failed"] = table["value"].isna()
    table["line"] = _line_names(table, ["gpu", "op", "dtype", "distribution"])
    words = ", ".join(f"{sign} {name}" for name, sign in SIGNS.items())
    about = f"Time before / time now: blue is faster than before; {words}"
    title = f"NEW against OLD: {compare.counts(changes)}"
    table = table.assign(bold=changes["failed"].array)
    return _draw(table, title, about, "bold: fails the comparison", NARROW)


def draw_grid(selection: Selection) -> Figure:
    """Draw the lead of the usual winner over its best rival, by M and N, of one operation.

    Sizes within BIN doublings share a cell, which has the least of their leads. A hatched cell has
    no winner, because no rival besides torch was timed, or not the usual winner of its GPU. A white
    cell was not measured.
    """
    sizes = ranking.over_sweeps(selection.own) if len(selection.own) else selection.own
    if sizes.empty:
        return style.nothing(selection, "Lead over the best rival")
    wins = sizes.loc[(sizes["rank"] == 1) & ~is_baseline(sizes), "variant"].value_counts()
    if wins.empty:
        return style.nothing(selection, "Lead over torch", "no kernel beats it at any size")
    variant = palette.most_first(wins)[0]
    raced = ranking.leads(sizes[sizes["no_winner"] == ""], variant)
    leads = sizes.loc[sizes["variant"] == variant, SIZE].merge(raced, how="left", on=SIZE)
    titles = style.gpu_titles(sizes)
    gpus = [gpu for gpu in newest_code(sizes) if gpu in set(leads["gpu"])]
    dtypes = [name for name in ITEMSIZE if name in set(leads["dtype"])]
    for name in ("M", "N"):
        leads[name] = BIN * (np.log2(leads[name]) // BIN).astype(int)
    lines, columns = (range(leads[name].min(), leads[name].max() + 1, BIN) for name in ("M", "N"))
    figure, grid = plt.subplots(
        len(gpus), len(dtypes), sharex=True, sharey=True, squeeze=False, figsize=(style.WIDTH, 5)
    )
    for axes, (gpu, dtype) in zip(grid.flat, [(g, d) for g in gpus for d in dtypes], strict=True):
        part = leads[(leads["gpu"] == gpu) & (leads["dtype"] == dtype)]
        cells = part.pivot_table("lead", "M", "N", aggfunc="min").reindex(lines, columns=columns)
        timed = (
            part.assign(timed=1.0).pivot_table("timed", "M", "N").reindex(lines, columns=columns)
        )
        _heat(axes, cells, NARROW, cells.map(_number))
        _hatch(axes, timed.notna() & cells.isna())
        axes.set(title=f"{titles[gpu]}, {dtype}", xlabel="N (columns) from", ylabel="M (rows) from")
        axes.set_xticks(np.arange(len(columns)) + 0.5, [style.size_label(2**n) for n in columns])
        axes.set_yticks(np.arange(len(lines)) + 0.5, [style.size_label(2**m) for m in lines])
        axes.tick_params(rotation=0)
        axes.label_outer()
    grid[0, 0].invert_yaxis()
    for band in grid:
        _colour_bar(band[-1], NARROW)
    finding = findings.lead(raced, variant)
    about = (
        f"Lowest speed-up of {variant} over its best rival, torch included, in each cell; "
        "a tie: not significantly more than 1 % slower; hatched: no winner, for lack of a rival; "
        "white: not measured"
    )
    facts = style.facts(selection._replace(rows=selection.own))
    height = len(gpus) * 0.19 * len(lines) + 0.4 * (len(gpus) - 1)
    return style.finish(figure, height, finding, about, facts, (0.6, 0.6), (0.15, 0.45))


def _line_names(table: pd.DataFrame, columns: list[str]) -> pd.Series:
    """Return the names of lines: the variant, and what differs between the rows beside it."""
    differing = [name for name in columns if table[name].nunique() > 1]
    if not differing:
        return table["variant"]
    return table["variant"] + " (" + table[differing].agg(", ".join, axis=1) + ")"


def _number(ratio: float) -> str:
    """Return a ratio with about three digits; "" for NaN."""
    return "" if np.isnan(ratio) else f"{ratio:.3g}" if ratio >= 10 else f"{ratio:.2f}"


def _draw(table: pd.DataFrame, finding: str, about: str, facts: str, widest: float) -> Figure:
    """Draw rows with `line`, `value`, `text`, `failed` and `bold`: a column for each size."""
    by_n = bool(rule_of_m(table))
    sizes = table[["M", "N"]].drop_duplicates().sort_values(["N", "M"] if by_n else ["M", "N"])
    columns = pd.MultiIndex.from_frame(sizes)
    first = table.groupby("line")[["op", "distribution", "variant"]].first()
    keys = {
        name: (op, distribution, palette.order(variant), name)
        for name, op, distribution, variant in first.itertuples()
    }
    lines = sorted(keys, key=keys.get)
    points = table.drop_duplicates(["line", "M", "N"]).set_index(["line", "M", "N"])
    cells = points.unstack(["M", "N"])
    value, text, failed, bold = (
        cells[name].reindex(lines, columns=columns) for name in ("value", "text", "failed", "bold")
    )
    is_written = len(columns) <= WRITTEN
    figure, axes = plt.subplots(figsize=(style.WIDTH, 4))
    _heat(axes, value.astype("float64"), widest, text if is_written else None)
    reasons = pd.DataFrame(1.0, lines, columns).where(failed.eq(True))
    if reasons.notna().any(axis=None):
        shown = {"annot": text if is_written else None, "fmt": "", "annot_kws": {"size": 5.5}}
        sns.heatmap(reasons, ax=axes, cmap=[FAILED], cbar=False, **shown)
    drawn = [*zip(*np.nonzero(value.notna().to_numpy()), strict=True)]
    for (line, column), written in zip(drawn, axes.texts, strict=False):
        written.set_fontweight("bold" if bold.iat[line, column] else "normal")
    names = [style.size_label(n) if by_n else f"{m}x{n}" for m, n in columns]
    step = -(-len(columns) // LABELS)
    axes.set_xticks(np.arange(0, len(columns), step) + 0.5, names[::step])
    axes.set_yticks(np.arange(len(lines)) + 0.5, lines)
    axes.tick_params(axis="x", rotation=0 if by_n else 90)
    axes.tick_params(axis="y", rotation=0)
    axes.set(xlabel="N (columns)" if by_n else "MxN", ylabel="")
    _colour_bar(axes, widest)
    letter = (style.TEXT - 1) * style.LETTER
    left, below = 0.2 + letter * max(map(len, lines)), 0.42
    below += 0 if by_n else letter * max(map(len, names))
    height = max(0.8, 0.24 * len(lines))
    return style.finish(figure, height, finding, about, facts, (left, 0.65), above=0.1, below=below)


def _heat(axes: Axes, ratios: pd.DataFrame, widest: float, texts: pd.DataFrame | None) -> None:
    """Draw ratios on a logarithmic scale of colours that ends at `widest` and its inverse."""
    log, end = np.log(ratios), np.log(widest)
    sns.heatmap(
        log,
        ax=axes,
        cmap=COLOURS,
        vmin=-end,
        vmax=end,
        annot=texts,
        fmt="",
        annot_kws={"size": 6 if ratios.shape[1] <= WRITTEN else 5},
        cbar=False,
        linewidths=0.4 if log.size <= FEW_CELLS else 0,
        rasterized=log.size > FEW_CELLS,
    )
    axes.grid(False)


def _colour_bar(axes: Axes, widest: float) -> None:
    """Draw the scale of the colours right of the panel."""
    ticks = [1 / widest, widest**-0.5, 1, widest**0.5, widest]
    columns = axes.get_gridspec().ncols
    place = axes.inset_axes([1 + 0.01 * columns, 0, 0.012 * columns, 1])
    bar = axes.figure.colorbar(axes.collections[0], cax=place, extend="both")
    bar.set_ticks(np.log(ticks), labels=[f"{tick:.2g}x" for tick in ticks])
    bar.outline.set_visible(False)


def _hatch(axes: Axes, cells: pd.DataFrame) -> None:
    """Hatch the cells that are true."""
    for line, column in zip(*np.nonzero(cells.to_numpy()), strict=True):
        axes.add_patch(
            plt.Rectangle((column, line), 1, 1, fc="0.95", ec="0.55", hatch="/////", lw=0)
        )
