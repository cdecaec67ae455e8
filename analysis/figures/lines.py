"""Lines: time and throughput over N, GPUs side by side, published beside measured, profiles."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath
from matplotlib.ticker import PercentFormatter
from matplotlib.transforms import ScaledTranslation

from analysis import palette, ranking
from analysis.figures import style
from analysis.figures.controls import CONTROL
from analysis.figures.style import themed
from analysis.frame import is_ranked, mark
from analysis.panels import Panel, Selection, copy_rate, panels
from analysis.published import Source
from analysis.schema import BASELINE

NAMES = {
    **{"throughput_gbps": "throughput (GB/s)", "of_copy": "% of copy bandwidth"},
    **{"time_us": "time (µs)", "over_base": "speed ratio"},
    **{"N": "N (columns)", "elements": "M·N (elements)"},
}
HIGHLIGHTED = 5  # variants besides torch
MAX_MARKERS, SPARSE = 20, 0.05  # a longer line has a marker only every SPARSE diagonals
LABEL = 7  # points
BANDS = "bands: 95 % interval of the ratio to torch, spread between processes included"
BOLD = f"bold: torch and the {HIGHLIGHTED} kernels that are most often in the best set"
POINT = ["op", "M", "N", "variant"]
HERO = ("torch_softmax", "peer_compile", "peer_liger", "peer_quack", "frontier")
HERO_DTYPES = ("float32", "bfloat16")
SHARES = (0, 1, 4, 10, 30, 100, 300)  # per cent; linear up to 1, then logarithmic
NEAR = 5  # per cent behind the fastest: the legend of a profile has this share
PROFILE = (
    "matrices where two variants rank; where a variant cannot run or is wrong, that counts against "
    "it; a time that a flag or its board excludes does not (Dolan and Moré, Math. Programming 91, "
    "2002)"
)


@themed
def draw_time(selection: Selection) -> Figure:
    """Draw the median time in µs over N, log-log, a line (gid: its name) for each timed variant.

    The roofline is the copy in the same processes (gid `copy`) or, for a published table, the time
    at the vendor's memory peak (gid `peak`). Where no rule gives M, points stand over M·N.
    """
    return _draw_set(selection, "Time over N", "time_us")


@themed
def draw_throughput(selection: Selection) -> Figure:
    """Draw the throughput in GB/s over N, with the lines of `draw_time`."""
    return _draw_set(selection, "Throughput over N", "throughput_gbps")


@themed
def draw_gpus(selections: Sequence[Selection]) -> Figure:
    """Draw the throughput over N, the panels of each GPU side by side with a common axis."""
    parts = []
    for title, rows, over in (panel for one in selections for panel in panels(one)):
        name, origin = rows["gpu_name"].iloc[0].split(" (")[0], rows["origin"].iloc[0]
        parts.append(Panel(f"{name} ({origin})\n{title}", rows, over))
    sources = list({s.file: s for one in selections for s in one.sources}.values())
    own = pd.concat([one.own for one in selections])
    first = selections[0]
    title = f"Throughput of GPUs side by side: {first.dtype} (sweep {first.sweep})"
    notes = style.footer(own, sources, [BANDS, BOLD])
    return _draw(parts, ["throughput_gbps"], title, notes, replace(first, own=own, sources=sources))


@themed
def draw_hero(measurements: pd.DataFrame) -> Figure:
    """Draw the fraction of the copy bandwidth over N of the variants in HERO.

    Of softmax, the rows of the GPU and the M with the most of these variants are drawn, and of
    several such M those with the most sizes. A point of several sweeps is their median.
    """
    rows = measurements[measurements["variant"].isin(HERO) & (measurements["op"] == "softmax")]
    rows = rows[rows["dtype"].isin(HERO_DTYPES) & (rows["gpu"] != "cpu")]
    title = "How near each kernel comes to copy bandwidth"
    timed = rows[is_ranked(rows, any_board=True) & rows["of_copy"].notna()]
    sizes = timed.groupby(["gpu", "M"])[["variant", "N"]].nunique()
    if timed.empty:
        return style.nothing_timed(title, rows, style.footer(rows))
    gpu, m = sizes.sort_values(["variant", "N"], kind="stable").index[-1]
    rows, timed = (every[(every["gpu"] == gpu) & (every["M"] == m)] for every in (rows, timed))
    numbers, parts = ["of_copy", "speedup", "speedup_low", "speedup_high"], []
    for dtype, part in timed.groupby("dtype"):
        groups = part.groupby(["variant", "N"])
        merged = groups.first().assign(flags=groups["flags"].agg(" ".join))
        merged[numbers] = groups[numbers].median()
        parts.append(Panel(dtype, merged.reset_index()))
    sweeps = f"sweeps {', '.join(sorted(set(timed['sweep'])))}; a point of several is their median"
    title += f": softmax, M = {m}, {timed['gpu_name'].iloc[0]}"
    notes = style.footer(rows, [], [sweeps, BANDS])
    of = Selection(gpu, "", "", rows, rows.iloc[:0], [], palette.styles(HERO))
    return _draw(parts[::-1], ["of_copy"], title, notes, of)


@themed
def draw_published(selection: Selection, tables: pd.DataFrame, sources: Sequence[Source]) -> Figure:
    """Draw the times of published `tables`, of any GPU, and of measured rows at their points.

    Beside them are the speeds over torch, or over the slowest variant of tables without torch.
    """
    points = pd.MultiIndex.from_frame(tables[POINT])
    own = selection.own[pd.MultiIndex.from_frame(selection.own[POINT]).isin(points)]
    slowest = np.log(tables["time_us"].astype(float)).groupby(tables["variant"]).mean().idxmax()
    base = BASELINE if BASELINE in set(tables["variant"]) else slowest
    title = style.heading(selection, "Published beside measured times" if len(own) else "Times")
    beside = panels(replace(selection, own=own, published=tables))
    shape = ["gpu", "origin", "M", "N"]
    for panel in beside:
        # a published table without torch has times alone
        speed = panel.rows["speedup"].astype(float).fillna(1 / panel.rows["time_us"])
        speeds = panel.rows.assign(speed=speed)[panel.rows["variant"] == base]
        of_base = speeds.set_index(shape)["speed"].reindex(
            pd.MultiIndex.from_frame(panel.rows[shape])
        )
        panel.rows["over_base"] = speed / of_base.to_numpy()
    notes = style.footer(own, sources, [BANDS, f"speed ratio: times as fast as {base}"])
    parts = [panel for panel in beside for _ in range(2)]
    return _draw(parts, ["time_us", "over_base"], title, notes, replace(selection, own=own))


@themed
def draw_profile(selection: Selection) -> Figure:
    """Draw the share of matrices up to x % behind the fastest, a line (gid: its name) each."""
    own = selection.own[selection.own["flags"] != CONTROL]
    table = ranking.profile(own)
    title = style.heading(selection, f"Performance profile of {len(table)} matrices")
    figure = style.page(4, title, style.footer(own, [], [PROFILE]))
    axes = figure.subplots()
    axes.set_xscale("symlog", linthresh=1)
    axes.set(xlim=(0, SHARES[-1]), ylim=(0, 1.02), ylabel="share of matrices")
    axes.set_xlabel("slower than the fastest by at most (%)")
    axes.set_xticks(SHARES, SHARES)
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    near = {name: ranking.within(table[name], NEAR) for name in table}
    for name in sorted(table, key=lambda name: (-near[name], palette.order(name))):
        steps, look = 100 * (table[name].dropna() - 1), selection.styles[name]
        x = np.unique([0, *steps[steps < SHARES[-1]], SHARES[-1]])
        y = [(steps <= percent).mean() for percent in x]
        few = f" (of {len(steps)})" if len(steps) < len(table) else ""
        shape = {"ds": "steps-post", "ms": 4, "markevery": 0.1, "lw": 1.2, "gid": name}
        shape |= {"color": look.colour, "marker": look.marker}
        axes.plot(x, y, label=f"{near[name]:.0%}  {name}{few}", **shape)
    figure.legend(loc="outside right upper", title=f"within {NEAR} % of the fastest")
    return figure


def _draw_set(selection: Selection, what: str, value: str) -> Figure:
    own, sources = selection.own, selection.sources
    notes = style.footer(own, sources, [BANDS, BOLD] if len(own) else [])
    title = style.heading(selection, what)
    return _draw(panels(selection), [value], title, notes, selection)


def _draw(
    parts: Sequence[Panel], values: Sequence[str], title: str, notes: Sequence[str], of: Selection
) -> Figure:
    """Draw panels, each with its value; a single value has one axis, except time."""
    if not parts:
        return style.nothing_timed(title, of.own, notes)
    across = {1: 1, 2: 2, 4: 2}.get(len(parts), 3)
    down = math.ceil(len(parts) / across)
    figure = style.page(4.2 if down == 1 else 2.3 * down, title, notes)
    same = len(values) == 1 and values != ["time_us"]
    grid = figure.subplots(down, across, squeeze=False, sharey=same).ravel()
    front = ranking.highlighted([of.own], HIGHLIGHTED)
    ops = {op for panel in parts for op in panel.rows["op"]}
    lines: dict[str, Line2D] = {}
    for number, (axes, panel) in enumerate(zip(grid, parts, strict=False)):
        value = values[number % len(values)]
        name = panel.title.replace(f"{min(ops)}, ", "") if len(ops) == 1 else panel.title
        axes.set(title=name, ylabel="" if same and number % across else NAMES[value])
        sizes = set(panel.rows[panel.over])
        style.label_sizes(axes, sizes, 12 // across + 1, NAMES[panel.over])
        lines = _panel(axes, panel, value, of, front) | lines
        if value == "time_us":
            style.label_time(axes)
    for number, axes in enumerate(grid):
        axes.set_axis_on() if number < len(parts) else axes.set_axis_off()
        if values[number % len(values)] != "time_us":
            axes.set_ylim(bottom=0)  # after all lines: a fixed limit ends the automatic scaling
    if values == ["of_copy"]:
        grid[0].yaxis.set_major_formatter(PercentFormatter(1))
    order = sorted(lines, key=lambda name: (name in ("copy", "peak"), palette.order(name)))
    if len(parts) > 1 or not _label_ends(grid[0], list(lines.values())):
        figure.legend(handles=[lines[name] for name in order], loc="outside right upper")
    return figure


def _panel(
    axes: Axes, panel: Panel, value: str, of: Selection, front: Sequence[str]
) -> dict[str, Line2D]:
    """Draw the lines of one panel; return them by their gid."""
    _, rows, over = panel
    drawn, published = [], rows["origin"] == "published"
    for tables in sorted(set(published)):
        end = " (published)" if tables and not published.all() else ""
        groups = rows[published == tables].sort_values(over).groupby("variant")
        for name, part in sorted(groups, key=lambda group: palette.order(group[0])):
            bold = name in front or value == "of_copy"
            drawn.append(_line(axes, part, value, over, of.styles[name], name + end, bold))
    rates, gid, text = copy_rate(rows, over), "copy", "copy (roofline)"
    if rates.empty:
        peaks = {s.file.removesuffix(".csv"): s.memory_peak_gbps for s in of.sources}
        peak, gid = peaks.get(rows["table"].iloc[0]), "peak"
        rates, text = pd.Series(peak, sorted(set(rows[over]))), f"{peak} GB/s (data sheet)"
    if value == "of_copy":
        rates = rates / rates
    elif value == "time_us":
        moved_kb = (rows["throughput_gbps"] * rows["time_us"]).groupby(rows[over]).median()
        rates = moved_kb.reindex(rates.index) / rates
    if value != "over_base" and rates.notna().any():
        shape = {"color": "0.25", "lw": 1.0, "zorder": 2.5, "ls": ":" if gid == "peak" else "--"}
        shape |= {"marker": "_", "markersize": 15} if len(rates) == 1 else {}
        drawn += axes.plot(rates.index, rates, gid=gid, label=text, **shape)
    return {line.get_gid(): line for line in drawn}


def _line(
    axes: Axes,
    rows: pd.DataFrame,
    value: str,
    over: str,
    look: palette.Style,
    gid: str,
    bold: bool,
) -> Line2D:
    """Draw one variant with its band (gid `{gid} band`) and marks; return its line."""
    published, joined = (rows["origin"] == "published").all(), over == "N"
    every = None if len(rows) <= MAX_MARKERS or not joined else SPARSE
    shape = {"lw": 1.5, "ms": 4.5, "zorder": 3} if bold else {"lw": 0.8, "ms": 3.2, "zorder": 2}
    shape |= {"ls": ("--" if published else "-") if joined else "none", "markevery": every}
    shape |= {"color": look.colour, "marker": look.marker, "markeredgewidth": 0.7}
    shape |= {"markerfacecolor": "white" if published else look.colour, "gid": gid, "label": gid}
    (line,) = axes.plot(rows[over], rows[value], **shape)
    # the time of torch is the unit of the interval
    ends = [rows[value] * rows[f"speedup_{end}"] / rows["speedup"] for end in ("low", "high")]
    if value == "time_us":
        ends = [rows[value] ** 2 / end for end in ends]
    band = {"color": look.colour, "alpha": 0.25, "zorder": 1.5, "gid": f"{gid} band"}
    if ends[0].notna().any():
        if joined and len(rows) > 1:
            axes.fill_between(rows[over], *ends, linewidth=0, **band)
        else:
            axes.vlines(rows[over], *ends, linewidth=4, **band)
    signs = rows["flags"].map(mark)
    for sign in sorted(set("".join(signs))):
        flagged = rows[signs.str.contains(sign)]
        above = axes.transData + ScaledTranslation(0, 4.5 / 72, axes.figure.dpi_scale_trans)
        shape = {"marker": TextPath((0, 0), sign, size=1), "ls": "none", "ms": 7, "zorder": 3}
        shape |= {"color": look.colour, "mew": 0.1, "transform": above, "gid": f"{gid} {sign}"}
        axes.plot(flagged[over], flagged[value], **shape)
    return line


def _label_ends(axes: Axes, lines: Sequence[Line2D]) -> bool:
    """Write each line's name right of the axes, near its end; return whether there is room."""
    axes.figure.draw_without_rendering()  # so that the height of the axes is final
    box, gap = axes.get_window_extent(), 1.3 * LABEL / 72 * axes.figure.dpi
    if len(lines) * gap > box.height:
        return False
    ends = {line: (line.get_xdata()[-1], line.get_ydata()[-1]) for line in lines}
    heights = {line: axes.transData.transform(end)[1] - box.y0 for line, end in ends.items()}
    low, high, placed = gap / 2, box.height - gap / 2, {}
    for line in sorted(heights, key=heights.__getitem__):
        placed[line] = max(heights[line], low)
        low = placed[line] + gap
    for line in reversed(placed):
        placed[line] = min(placed[line], high)
        high = placed[line] - gap
        arrow = {"arrowstyle": "-", "relpos": (0, 0.5), "color": "0.6", "lw": 0.6}
        arrow |= {"ls": (0, (1, 2)), "shrinkA": 1, "shrinkB": 2}
        place = {"xytext": (1.025, placed[line] / box.height), "textcoords": "axes fraction"}
        font = {"fontsize": LABEL, "weight": "bold" if line.get_linewidth() > 1.2 else "normal"}
        font |= {"color": line.get_color(), "va": "center", "annotation_clip": False, "zorder": 1.1}
        axes.annotate(line.get_label(), ends[line], arrowprops=arrow, **place, **font)
    return True
