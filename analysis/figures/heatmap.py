"""Heat maps: the speed-up over torch, the fastest kernels of a GPU, changes between runs."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from analysis import compare, palette, rows, schema
from analysis.figures import style
from analysis.frame import is_ranked, mark
from analysis.panels import Selection, describe_m, rule_of_m, split_by_m
from analysis.published import Published

TICKS = (1.2, 2, 5, 20, 100)  # of the colours, blue for faster; red has their inverses
COLUMNS, LEAST = 14, 0.01  # of a band; the smallest half interval that is written
VALUES = ("value", "text", "frame")
# Statuses that do not fit into a cell.
WORDS = {"unsupported": "unsup.", "unavailable": "unavail.", "interpreted": "interp."}
WORDS |= {"incorrect": "wrong", "out_of_memory": "memory"}
INTERVAL = f"±: half of the 95 % interval, spread between processes included, from {LEAST:.0%} on"
MAP = (
    "colour, marker: the kernel that is the fastest at most sizes from that N to twice as many; "
    "number: the least % of a copy's speed there (published: of the data sheet's bandwidth); +: "
    "others are the fastest at some of these sizes; =: a tie; pale: no other kernel competes"
)
SIGNS = {compare.SLOWER: "▼", compare.FASTER: "▲", compare.UNCLEAR: "?"}


@style.themed
def draw_speedup(selection: Selection) -> Figure:
    """Draw the speed-up over torch of every variant (row) at every size (column).

    A point without a time shows why; an empty cell is a point outside the sweep. A published table
    is drawn where nothing was measured.
    """
    table = selection.own if len(selection.own) else selection.published
    why = table["unranked_by"].str.replace(".* .*", "not ranked", regex=True)
    why = why.where(table["status"] == "ok", table["status"])
    table = table.assign(value=table["speedup"].where(is_ranked(table, any_board=True)), frame="")
    board = (table["unranked_by"] == schema.OTHER_BOARD).map({True: style.BOARD, False: ""})
    table["text"] = _texts(table, table["flags"].map(mark) + board, why)
    table["band"] = table["op"] + ", " + table["distribution"]
    if len(selection.own):
        best = table["in_best_set"] & (table["competitors"] > 1)
        several = best.groupby([table[name] for name in ("band", "M", "N")]).transform("sum") > 1
        table["frame"] = np.select([best & several, best], ["--", "-"], "")
    note = f"frame: the best set at that size, dashed where it has several variants; {INTERVAL}"
    notes = style.footer(selection.own, selection.sources, [note])
    title = style.heading(selection, "Speed-up over torch")
    return _draw(table, title, notes, "time of torch / time")


@style.themed
def draw_changes(changes: pd.DataFrame, limits: compare.Limits) -> Figure:
    """Draw old time / new time of every point; `changes`: as of compare.judge."""
    table = changes.reset_index().rename(columns={"ratio": "value"})
    table = table.assign(speedup_low=table["low"], speedup_high=table["high"])
    table["text"] = _texts(table, table["change"].map(SIGNS).fillna(""), table["change"])
    failed = compare.failed(changes, limits).to_numpy()
    moved = table["change"].isin([compare.SLOWER, compare.FASTER])
    table["frame"] = np.select([failed, moved], ["-", "--"], "")
    signs = ", ".join(f"{sign} {name}" for name, sign in SIGNS.items())
    note = f"{signs}, no sign: {compare.SAME}; frame: failed, dashed: slower or faster; {INTERVAL}"
    title = f"NEW against OLD: {compare.counts(changes)}"
    table["band"] = table[["gpu", "op", "dtype", "distribution"]].agg(", ".join, axis=1)
    return _draw(table, title, [note], "old time / new time")


def write_changes(text: str, changes: pd.DataFrame, limits: compare.Limits, folder: Path) -> None:
    """Write compare.md and its figure to `folder`; the same bytes for the same rows."""
    rows.write(Path(folder) / "compare.md", f"{text}\n![Every point](compare.png)\n")
    style.save(draw_changes(changes, limits), Path(folder) / "compare")


@style.themed
def draw_map(measurements: pd.DataFrame, published: Published, gpu: str) -> Figure:
    """Draw the fastest variants of a GPU, and the least % of copy bandwidth that they reach.

    A line is a sweep and rule of M, under its operation and dtype; a column holds the sizes from a
    power of two up to the next. `measurements`: as of ranking.rank_variants.
    """
    own, tables = (rows[rows["gpu"] == gpu] for rows in (measurements, published.rows))
    sources = {name: each for name, each in published.sources.items() if each.gpu == gpu}
    title = "Which kernel is the fastest where, and % of copy bandwidth: "
    title += [*own["gpu_name"], *tables["gpu_name"]][0].split(" (")[0]
    notes = style.footer(own, sources.values(), [MAP])
    # published rows rank by time alone, and have no copy beside them
    peaks = {name.removesuffix(".csv"): each.memory_peak_gbps for name, each in sources.items()}
    share = tables["throughput_gbps"] / tables["table"].map(peaks).astype(float)
    times = tables.groupby(["table", "M", "N"])["time_us"]
    tables = tables.assign(of_copy=share, rank=times.rank(method="first"), in_best_set=False)
    tables["competitors"] = times.transform("size")
    timed = pd.concat([own[is_ranked(own)], tables], ignore_index=True)
    if timed.empty:
        return style.page(0, f"{title}: no timed rows", notes)
    best = timed["in_best_set"].groupby([timed[key] for key in schema.SWEEP_MATRIX])
    timed = timed.assign(tie=best.transform("sum") > 1, least=2 ** np.log2(timed["N"]).astype(int))
    timed["order"] = 9 * timed["op"].str.len() + timed["dtype"].map([*schema.ITEMSIZE].index)
    lines = []  # label and rows; no rows under an operation and dtype
    for (_, op, dtype), group in timed[timed["rank"] == 1].groupby(["order", "op", "dtype"]):
        lines.append((f"{op}, {dtype}", group[:0]))
        for sweep, rows_of_sweep in group.groupby("sweep"):
            name = "" if sweep == op else f"{sweep}: "
            lines += [(name + describe_m(part), part) for part in split_by_m(rows_of_sweep)]
    figure = style.page(0.175 * len(lines) + 1.1, title, notes)
    axes, styles, handles = figure.subplots(), palette.styles(timed["variant"]), {}
    places = {n: x for x, n in enumerate(sorted({n for _, part in lines for n in part["least"]}))}
    for y, (_, part) in enumerate(lines):
        for n, cell in part.groupby("least"):
            counts, x = cell["variant"].value_counts(), places[n]
            name = min(counts.index, key=lambda each: (-counts[each], palette.order(each)))
            colour, marker = styles[name]
            pale = 0.3 if (cell["competitors"] < 2).all() else 1
            ground = 1 - pale * (1 - np.array(to_rgb(colour)))
            axes.add_patch(Rectangle((x + 0.03, y + 0.06), 0.94, 0.88, color=ground, lw=0))
            ink = {"color": style.text_colour(ground)}
            axes.plot(x + 0.085, y + 0.5, marker, ms=3.6, **ink)
            text = f"{100 * cell['of_copy'].min():.0f}"
            text += "+" if len(counts) > 1 else "=" if cell["tie"].any() else ""
            axes.text(x + 0.985, y + 0.5, text, ha="right", va="center_baseline", **ink)
            ink = dict.fromkeys(("mfc", "mec"), style.text_colour(to_rgb(colour)))
            ink |= {"marker": marker, "ms": 4, "color": colour, "lw": 9, "solid_capstyle": "butt"}
            handles[name] = Line2D([], [], label=name, **ink)
    axes.set(xlim=(0, len(places)), ylim=(len(lines), 0), xlabel="N (columns)", facecolor="0.97")
    axes.grid(False)
    axes.set_xticks(np.arange(len(places)) + 0.5, map(style.size_label, places))
    axes.set_yticks(np.arange(len(lines)) + 0.5, [label for label, _ in lines])
    for label, (_, part) in zip(axes.get_yticklabels(), lines, strict=True):
        label.set_fontweight("normal" if len(part) else "bold")
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
        texts.append(f"{text}\n±{half:.0%}" if half >= LEAST else text)
    return texts


def _draw(table: pd.DataFrame, title: str, notes: list[str], label: str) -> Figure:
    """Draw rows with `band`, `value`, `text` and `frame`, COLUMNS sizes beside each other."""
    bands = [band for name, part in table.groupby("band") for band in _bands(part, name)]
    lines = [len(values) for _, values, *_ in bands]
    cell = 0.07 + 0.13 * (1 + table["text"].str.count("\n").max())  # inches
    titles = sum(0.45 + 0.2 * bool(name) for name, *_ in bands)
    figure = style.page(max(2.3, sum(lines) * cell + titles), title, notes)
    grid = figure.subplots(len(bands), 1, squeeze=False, height_ratios=lines).ravel()
    ticks = [*(1 / tick for tick in TICKS), 1, *TICKS]
    # the square root of the logarithm keeps 1.1 and 1.3 apart, and 20 and 100
    root = (lambda log: np.sign(log) * np.sqrt(np.abs(log)), lambda x: x * np.abs(x))
    look = ScalarMappable(FuncNorm(root, *np.log([1 / TICKS[-1], TICKS[-1]])), "RdBu")
    for axes, (name, values, texts, frames) in zip(grid, bands, strict=True):
        shape = {"edgecolors": "white", "lw": 0.6, "cmap": look.cmap, "norm": look.norm}
        axes.pcolormesh(np.log(np.ma.masked_invalid(values)), **shape)
        axes.set(facecolor="0.95", ylim=(len(values), 0), title=name)
        axes.grid(False)
        for i, j in np.argwhere(texts.notna()):
            value, text = values.iat[i, j], texts.iat[i, j]
            colour = style.text_colour(look.to_rgba(np.log(value))) if np.isfinite(value) else "0.3"
            middle = {"ha": "center", "va": "center", "linespacing": 0.95, "color": colour}
            axes.text(j + 0.5, i + 0.5, text, **middle)
            if frame := frames.iat[i, j]:
                edge = {"fill": False, "lw": 1.1, "ls": frame, "clip_on": False}
                axes.add_patch(Rectangle((j, i), 1, 1, edgecolor="black", **edge))
        axes.set_xticks(np.arange(len(values.columns)) + 0.5, values.columns)
        axes.set_yticks(np.arange(len(values)) + 0.5, values.index)
        below = ", and below it M (rows)" if "\n" in values.columns[0] else ""
        axes.set_xlabel(f"N (columns){below}")
    bar = {"shrink": min(1, 3 / (sum(lines) * cell)), "anchor": (0, 1), "aspect": 25, "pad": 0.01}
    bar = figure.colorbar(look, ax=grid, extend="both", label=label, **bar)
    bar.set_ticks(np.log(ticks), labels=[f"{tick:.3g}" for tick in ticks])
    bar.minorticks_off()
    return figure


def _bands(part: pd.DataFrame, title: str) -> list[tuple]:
    """Return for each COLUMNS sizes of rows: a title, and tables of values, texts and frames."""
    rule = rule_of_m(part)
    order = ["N", "M"] if rule else ["M", "N"]
    names = sorted(part["variant"].unique(), key=palette.order)
    shapes = part[order].drop_duplicates().sort_values(order)
    labels = shapes["N"].map(style.size_label)
    if shapes["M"].nunique() > 1:
        labels += "\n" + shapes["M"].map(style.size_label)
    title += f", {rule}" if rule else ""
    tables = [part.pivot(index="variant", columns=order, values=name) for name in VALUES]
    tables = [table.reindex(names).set_axis(labels, axis=1) for table in tables]
    chunks = np.array_split(np.arange(len(labels)), -(-len(labels) // COLUMNS))
    return [("" if c[0] else title, *(table.iloc[:, c] for table in tables)) for c in chunks]
