"""Heat maps: the speed-up over torch, who is the fastest where, and the changes between runs."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis import compare, palette, rows, schema
from analysis.figures import style
from analysis.figures.style import themed
from analysis.frame import is_ranked
from analysis.panels import Selection, describe_m, rule_of_m, split_by_m
from analysis.published import Published, Source

# Blue is faster, red is slower. Limit of the colours -> the ticks above 1.
TICKS = {2: (1.02, 1.1, 1.3, 2), 10: (1.1, 1.5, 2.5, 5, 10), 100: (1.2, 2, 5, 20, 100)}
COLUMNS = 22  # of a band
LEAST = 0.01  # the smallest half interval that is written
# Statuses that do not fit into a cell.
WORDS = {"unsupported": "unsup.", "interpreted": "interp.", "incorrect": "wrong"}
INTERVAL = f"±: half of the 95 % interval, spread between processes included, from {LEAST:.0%} on"
SIGNS = {compare.SLOWER: "▼", compare.FASTER: "▲", compare.UNCLEAR: "?"}
SIZES = ["op", "distribution", "M", "N"]
MATRIX, DTYPES = [*schema.SWEEP_MATRIX], list(schema.ITEMSIZE)
MAP = (
    "cell: the kernel that is the fastest at most sizes from that N up to twice as many, and % of "
    "the speed of a copy (of a published table: of the data sheet's bandwidth); colour: the least; "
    "frame: without a tie at all its sizes; in brackets: no other kernel competes there"
)


class Band(NamedTuple):
    """Cells: values, texts, and the style of the frames ("" for none)."""

    title: str
    values: pd.DataFrame
    texts: pd.DataFrame
    frames: pd.DataFrame
    xlabel: str


@themed
def draw_speedup(selection: Selection) -> Figure:
    """Draw the speed-up over torch of every variant (row) at every size (column).

    A point without a time shows its status, or the reason why it does not rank. An empty cell is a
    point outside the sweep. A published table is drawn where nothing was measured.
    """
    table = selection.own if len(selection.own) else selection.published
    timed = is_ranked(table, any_board=True)
    why = table["unranked_by"].str.replace(".* .*", "not ranked", regex=True)
    why = why.where(table["status"] == "ok", table["status"])
    table = table.assign(value=table["speedup"].where(timed), frame="", text="")
    table["text"] = _texts(table, style.signs(table), why)
    if len(selection.own):
        best = table["in_best_set"] & (table["competitors"] > 1)
        several = best.groupby([table[name] for name in SIZES]).transform("sum") > 1
        table["frame"] = np.select([best & several, best], ["--", "-"], "")
    bands = [band for _, part in table.groupby(SIZES[:2]) for band in _bands(part, SIZES[:2])]
    notes = [f"frame: the best set at that size, dashed where it has several variants; {INTERVAL}"]
    notes = style.footer(selection.own, selection.sources, notes)
    title = style.heading(selection, "Speed-up over torch")
    return _draw_ratios(bands, title, notes, "time of torch / time", [100])


@themed
def draw_changes(changes: pd.DataFrame, limits: compare.Limits) -> Figure:
    """Draw old time / new time of every point; `changes`: as of compare.judge."""
    table = changes.reset_index().rename(columns={"ratio": "value"})
    table = table.assign(speedup_low=table["low"], speedup_high=table["high"])
    table["text"] = _texts(table, table["change"].map(SIGNS).fillna(""), table["change"])
    failed = compare.failed(changes, limits).to_numpy()
    moved = table["change"].isin([compare.SLOWER, compare.FASTER])
    table["frame"] = np.select([failed, moved], ["-", "--"], "")
    key = ["gpu", "op", "dtype", "distribution"]
    bands = [band for _, part in table.groupby(key) for band in _bands(part, key)]
    signs = ", ".join(f"{sign} {name}" for name, sign in SIGNS.items())
    notes = [
        f"{signs}, no sign: {compare.SAME}; frame: failed, dashed: slower or faster; {INTERVAL}"
    ]
    title = f"NEW against OLD: {compare.counts(changes)}"
    return _draw_ratios(bands, title, notes, "old time / new time", list(TICKS))


def write_changes(text: str, changes: pd.DataFrame, limits: compare.Limits, folder: Path) -> None:
    """Write compare.md and its figure to `folder`; the same bytes for the same rows."""
    rows.write(Path(folder) / "compare.md", f"{text}\n![Every point](compare.png)\n")
    style.save(draw_changes(changes, limits), Path(folder) / "compare")


@themed
def draw_map(measurements: pd.DataFrame, published: Published, gpu: str) -> Figure:
    """Draw the fastest variants of a GPU, and the least fraction of copy bandwidth they reach.

    A line is an operation, dtype, sweep and rule of M; a column holds the sizes from a power of two
    up to the next. `measurements`: as of ranking.rank_variants.
    """
    own, tables = (rows[rows["gpu"] == gpu] for rows in (measurements, published.rows))
    sources = [source for source in published.sources.values() if source.gpu == gpu]
    notes = style.footer(own, sources, [MAP])
    timed = pd.concat([own[is_ranked(own)], _ranked(tables, sources)], ignore_index=True)
    name = [*own["gpu_name"], *tables["gpu_name"]][0].split(" (")[0]
    title = f"Which kernel is the fastest where, and % of copy bandwidth: {name}"
    if timed.empty:
        return style.nothing_timed(title, own, notes)
    timed["best"] = timed["in_best_set"].groupby([timed[key] for key in MATRIX]).transform("sum")
    cells = {}  # (order, name of the line, least N) -> value, text, frame
    for (op, dtype, sweep), same in timed.groupby(["op", "dtype", "sweep"]):
        for number, part in enumerate(split_by_m(same)):
            name = f"{op}, {dtype}, {sweep}: {describe_m(part)}"
            first = part[part["rank"] == 1]
            for n, cell in first.groupby(2 ** np.log2(first["N"]).astype(int)):
                place = (len(op), op, DTYPES.index(dtype), sweep, number, name)
                cells[*place, n] = _winner(cell)
    table = pd.DataFrame(list(cells.values()), pd.MultiIndex.from_tuples(cells)).sort_index()
    cells = [table[i].unstack().droplevel([0, 1, 2, 3, 4]) for i in range(3)]
    cells = [cells[0].astype(float), cells[1].fillna(""), cells[2].fillna("")]
    cells = [table.rename(columns=style.size_label) for table in cells]
    band, look = Band("", *cells, "N (columns)"), {"cmap": "cividis", "norm": Normalize(0.4, 1)}
    bar = {"label": "of copy bandwidth", "format": "{x:.0%}", "extend": "min"}
    return _draw([band], title, notes, look, bar)


def _winner(cell: pd.DataFrame) -> tuple[float, str, str]:
    """Return the least share, the text and the frame of a cell; `cell`: the fastest rows in it."""
    counts, share = cell["variant"].value_counts(), 100 * cell["of_copy"]
    name = min(counts.index, key=lambda each: (-counts[each], palette.order(each)))
    part = f"\n{counts[name]}/{len(cell)}" if len(cell) > 1 else ""
    ends = "-".join(dict.fromkeys(f"{end:.0f}" for end in (share.min(), share.max())))
    alone = (cell["competitors"] < 2).all()
    sole = (cell["best"] == 1).all() and len(counts) == 1 and not alone
    text = name.replace("_", "\n").replace("\n\n", "\n") + f"{part}\n{ends} %"
    return share.min() / 100, f"({text})" if alone else text, "-" if sole else ""


def _ranked(rows: pd.DataFrame, sources: Sequence[Source]) -> pd.DataFrame:
    """Return published rows with the columns of ranked ones, in % of the data sheet's peak."""
    peaks = {source.file.removesuffix(".csv"): source.memory_peak_gbps for source in sources}
    share = rows["throughput_gbps"] / rows["table"].map(peaks).astype(float)
    times = rows.groupby(["table", "M", "N"])["time_us"]
    rank, size = times.rank(method="first"), times.transform("size")
    return rows.assign(of_copy=share, rank=rank, competitors=size, in_best_set=rank == 1)


def _texts(table: pd.DataFrame, signs: pd.Series, why: pd.Series) -> list[str]:
    """Return a ratio of about three digits and its marks, or why there is none."""
    texts = []
    halves = (table["speedup_high"] - table["speedup_low"]) / 2 / table["value"]
    for ratio, half, sign, word in zip(table["value"], halves, signs, why, strict=True):
        decimals = 2 - (ratio >= 10) - (ratio >= 100) + (ratio < 0.1)
        text = WORDS.get(word, word.replace("_", "\n").replace(" ", "\n")) or "no\ntorch"
        text = text if math.isnan(ratio) else f"{ratio:.{decimals}f}{sign}"
        texts.append(f"{text}\n±{half:.0%}" if half >= LEAST else text)
    return texts


def _bands(part: pd.DataFrame, key: Sequence[str]) -> list[Band]:
    """Return the bands of rows with `value`, `text` and `frame`, a column for each M and N."""
    rule = rule_of_m(part)
    fixed, order = part["M"].nunique() == 1, ["N", "M"] if rule else ["M", "N"]
    shapes = part[order].drop_duplicates().sort_values(order)
    names = sorted(part["variant"].unique(), key=palette.order)
    by_point = part.set_index(["variant", *order])
    tables = [by_point[name].unstack("variant").T for name in ("value", "text", "frame")]
    title = ", ".join([*part[list(key)].iloc[0], *([rule] if rule else [])])
    bands = []
    for chunk in np.array_split(np.arange(len(shapes)), math.ceil(len(shapes) / COLUMNS)):
        points = shapes.iloc[chunk]
        cells = [
            table.reindex(index=names, columns=pd.MultiIndex.from_frame(points)) for table in tables
        ]
        labels = points["N"].map(style.size_label)
        for table in cells:
            table.columns = labels if fixed else labels + "\n" + points["M"].map(style.size_label)
        xlabel = "N (columns)" if fixed else "N (columns), and below it M (rows)"
        bands.append(
            Band("" if bands else title, cells[0], *(t.fillna("") for t in cells[1:]), xlabel)
        )
    return bands


def _draw_ratios(
    bands: Sequence[Band], title: str, notes: Sequence[str], label: str, limits: Sequence[int]
) -> Figure:
    """Draw ratios with colours up to the first of `limits` that includes all of them."""
    largest = np.exp(max(np.log(band.values).abs().max(axis=None) for band in bands))
    limit = next((each for each in limits if each >= largest), limits[-1])
    # the square root of the logarithm keeps 1.1 and 1.3 apart, and 20 and 100
    scale = (
        lambda ratio: np.sign(ratio - 1) * np.sqrt(np.abs(np.log(np.maximum(ratio, 1e-9)))),
        lambda place: np.exp(np.sign(place) * np.square(place)),
    )
    bar = {"ticks": sorted([1, *TICKS[limit], *(1 / tick for tick in TICKS[limit])])}
    bar |= {"extend": "both" if largest > limit else "neither", "label": label, "format": "{x:.3g}"}
    look = {"cmap": "RdBu", "norm": FuncNorm(scale, 1 / limit, limit)}
    return _draw(bands, title, notes, look, bar)


def _draw(
    bands: Sequence[Band], title: str, notes: Sequence[str], look: Mapping, bar: Mapping
) -> Figure:
    lines = [len(band.values) for band in bands]
    columns = max(len(band.values.columns) for band in bands)
    deep = 1 + max(text.count("\n") for band in bands for text in band.texts.to_numpy().flat)
    cell = max(0.27, 0.08 * deep)  # inches
    names = 0.06 * max(len(name) for band in bands for name in band.values.index)
    width = max(5.5, min(style.WIDTH - 1 + names, 1 + names + 0.6 * columns))
    above = sum(0.42 + 0.2 * bool(b.title) + 0.1 * ("\n" in b.values.columns[0]) for b in bands)
    figure = style.page(max(2.0, sum(lines) * cell + above), title, notes, width)
    grid = figure.subplots(len(bands), 1, squeeze=False, height_ratios=lines).ravel()
    for axes, band in zip(grid, bands, strict=True):
        _draw_band(axes, band, look, (width - names - 1) / len(band.values.columns), cell / deep)
    place = {"shrink": min(1, 3 / (sum(lines) * cell)), "anchor": (0, 1), "aspect": 25}
    figure.colorbar(ScalarMappable(**look), ax=grid, pad=0.01, **place, **bar).minorticks_off()
    return figure


def _draw_band(axes: Axes, band: Band, look: Mapping, cell: float, line: float) -> None:
    """Draw cells that are `cell` inches wide, with text lines of `line` inches."""
    values, columns = band.values.to_numpy(float), band.values.columns
    axes.pcolormesh(np.ma.masked_invalid(values), edgecolors="white", linewidth=0.6, **look)
    axes.set(facecolor="0.95", ylim=(len(values), 0))
    axes.grid(False)
    grounds = ScalarMappable(**look).to_rgba(values)
    longest = max(map(len, "\n".join(band.texts.to_numpy().flat).split("\n")))
    size = min(6.5, 110 * cell / longest, 66 * line)  # a letter is 0.6 of its size wide
    for (i, j), text in np.ndenumerate(band.texts.to_numpy()):
        colour = style.text_colour(grounds[i, j]) if math.isfinite(values[i, j]) else "0.3"
        if text:
            middle = {"ha": "center", "va": "center", "linespacing": 0.95}
            axes.text(j + 0.5, i + 0.5, text, fontsize=size, color=colour, **middle)
        if frame := band.frames.iat[i, j]:
            edge = {"fill": False, "edgecolor": "black", "lw": 1.1, "clip_on": False, "ls": frame}
            axes.add_patch(Rectangle((j, i), 1, 1, gid=f"frame {band.values.index[i]}", **edge))
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axes.set_yticks(np.arange(len(values)) + 0.5, band.values.index)
    axes.tick_params(length=0, labelsize=6.5 if len(columns) <= 14 else 6)
    axes.set(title=band.title, xlabel=band.xlabel)
