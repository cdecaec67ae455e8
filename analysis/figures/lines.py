"""Lines: time and throughput over N, GPUs side by side, published beside measured, profiles."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter, PercentFormatter, StrMethodFormatter

from analysis import palette, ranking
from analysis.figures import style
from analysis.figures.controls import CONTROL
from analysis.frame import is_ranked, mark
from analysis.panels import Panel, Selection, copy_rate, panels
from analysis.published import Source
from analysis.schema import BASELINE

NAMES = {"throughput_gbps": "throughput (GB/s)", "of_copy": "% of copy bandwidth"}
NAMES |= {"time_us": "time (µs)", "over_base": "speed ratio"}
NAMES |= {"N": "N (columns)", "elements": "M·N (elements)"}
CPU = "cpu"  # its times never stand beside those of a GPU
HIGHLIGHTED = 5  # variants besides torch
DECADES = (1.6, 0.5)  # an axis of time over fewer has some labels between powers of 10, or all
MAX_MARKERS, SPARSE = 20, 0.05  # a longer line has a marker only every SPARSE diagonals
BARS = "bars: 95 % interval of the ratio to torch, spread between processes included"
BOLD = f"bold: torch and the {HIGHLIGHTED} kernels that are most often in the best set"
POINT = ["op", "M", "N", "variant"]
HERO = ("torch_softmax", "peer_compile", "peer_liger", "peer_quack", "frontier")
SHARES = (0, 1, 4, 10, 30, 100, 300)  # per cent; linear up to 1, then logarithmic
NEAR = 5  # per cent behind the fastest: the legend of a profile has this share
PROFILE = (
    "of matrices where two variants rank; what cannot run or is wrong counts as slow, a time that "
    "a flag or its board excludes does not count (Dolan and Moré, Math. Programming 91, 2002)"
)


@style.themed
def draw_over_n(selection: Selection, value: str) -> Figure:
    """Draw time_us or throughput_gbps over N, a line (gid: its name) for each timed variant.

    The roofline is the copy in the same processes (gid `copy`) or, for a published table, the
    vendor's memory peak (gid `peak`). Where no rule gives M, points stand over M·N.
    """
    title = style.heading(selection, f"{NAMES[value].split(' (')[0].capitalize()} over N")
    notes = [BARS, BOLD] * (len(selection.own) > 0)
    return _draw(panels(selection), value, title, notes, selection)


@style.themed
def draw_gpus(selections: Sequence[Selection]) -> Figure:
    """Draw the throughput over N on several GPUs, with one axis."""
    parts = [panel for one in selections for panel in panels(one)]
    for place, (title, rows, over) in enumerate(parts):
        name, origin = rows[["gpu_name", "origin"]].iloc[0]
        parts[place] = Panel(f"{name.split(' (')[0]} ({origin})\n{title}", rows, over)
    sources = list({each.file: each for one in selections for each in one.sources}.values())
    of = selections[0]._replace(own=pd.concat([one.own for one in selections]), sources=sources)
    title = f"Throughput of GPUs side by side: {of.dtype}, sweep {of.sweep}"
    return _draw(parts, "throughput_gbps", title, [BARS, BOLD], of)


@style.themed
def draw_hero(measurements: pd.DataFrame) -> Figure:
    """Draw the fraction of copy bandwidth over N of HERO, for softmax in float32 and bfloat16.

    The rows are those of the GPU and the M with the most of these variants, and of several such M
    with the most sizes. A point of several sweeps is their median.
    """
    wanted = {"variant": HERO, "op": ["softmax"], "dtype": ["float32", "bfloat16"]}
    rows = measurements[measurements[list(wanted)].isin(wanted).all(axis=1)]
    rows = rows[rows["gpu"] != CPU]
    title = "How near each kernel comes to copy bandwidth"
    of = Selection("", "", "", rows, rows[:0], [], palette.styles(HERO))
    timed = rows[is_ranked(rows, any_board=True) & rows["of_copy"].notna()]
    if timed.empty:
        return _draw([], "of_copy", title, [], of)
    sizes = timed.groupby(["gpu", "M"])[["variant", "N"]].nunique()
    gpu, m = sizes.sort_values(["variant", "N"], kind="stable").index[-1]
    rows, timed = (every[(every["gpu"] == gpu) & (every["M"] == m)] for every in (rows, timed))
    groups = timed.groupby(["dtype", "variant", "N"])
    medians = groups[["of_copy", "speedup", "speedup_low", "speedup_high"]].median()
    merged = groups.first().assign(**medians, flags=groups["flags"].agg(" ".join))
    parts = [Panel(dtype, part) for dtype, part in merged.reset_index().groupby("dtype")]
    sweeps = f"sweeps {', '.join(sorted(set(timed['sweep'])))}; a point of several is their median"
    title += f": softmax, M = {m}, {timed['gpu_name'].iloc[0]}"
    return _draw(parts[::-1], "of_copy", title, [sweeps, BARS], of._replace(own=rows))


@style.themed
def draw_published(selection: Selection, tables: pd.DataFrame, sources: Sequence[Source]) -> Figure:
    """Draw published speeds of `sources`, of any GPU, and those of measured rows at their points.

    They are ratios to torch, or to the slowest variant of tables without torch.
    """
    tables = tables[(tables["table"] + ".csv").isin([source.file for source in sources])]
    own = selection.own.merge(tables[POINT].drop_duplicates(), on=POINT)
    slowest = np.log(tables["time_us"].astype(float)).groupby(tables["variant"]).mean().idxmax()
    base = BASELINE if BASELINE in set(tables["variant"]) else slowest
    of = selection._replace(own=own, published=tables, sources=sources)
    for _, rows, _ in (parts := panels(of)):
        # a published table without torch has times alone
        speed = rows["speedup"].astype(float).fillna(1 / rows["time_us"])
        shape = [rows[name] for name in ("gpu", "origin", "M", "N")]
        of_base = speed.where(rows["variant"] == base).groupby(shape).transform("max")
        rows["over_base"] = speed / of_base
    title = style.heading(of, f"Published and measured speed over {base}")
    return _draw(parts, "over_base", title, [BARS], of)


@style.themed
def draw_profile(selection: Selection) -> Figure:
    """Draw the share of matrices up to x % behind the fastest, a line (gid: its name) each."""
    own = selection.own[selection.own["flags"] != CONTROL]
    table = ranking.profile(own)
    title = style.heading(selection, f"Performance profile of {len(table)} matrices")
    figure = style.page(4, title, style.footer(own, [], [PROFILE]))
    axes = figure.subplots()
    axes.set_xscale("symlog", linthresh=1, subs=[1])
    axes.set(xlim=(0, SHARES[-1]), ylim=(0, 1.02), xticks=SHARES, xticklabels=SHARES)
    axes.set(xlabel="slower than the fastest by at most (%)", ylabel="share of matrices")
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


def _draw(parts: list[Panel], value: str, title: str, notes: list[str], of: Selection) -> Figure:
    """Draw panels with one axis of values, except time."""
    fine_print = style.footer(of.own, of.sources, notes)
    if not parts:
        return style.page(0, f"{title}: no timed rows", fine_print)
    across = {1: 1, 2: 2, 4: 2}.get(len(parts), 3)
    down = -(-len(parts) // across)
    names = {name for panel in parts for name in panel.rows["variant"]}
    front = {*ranking.highlighted([of.own], HIGHLIGHTED)} if BOLD in notes else names
    same = value != "time_us"
    height = max(4.2, down * max(2.4, 0.16 * len(names) + 1))  # each panel has room for labels
    figure = style.page(height, title, fine_print)
    grid = figure.subplots(down, across, squeeze=False, sharey=same).ravel()
    ops = {op for panel in parts for op in panel.rows["op"]}
    found = []  # the lines of each panel
    for number, (axes, panel) in enumerate(zip(grid, parts, strict=False)):
        name = panel.title.replace(f"{min(ops)}, ", "") if len(ops) == 1 else panel.title
        axes.set(title=name, ylabel="" if same and number % across else NAMES[value])
        style.label_sizes(axes, set(panel.rows[panel.over]), 12 // across + 1, NAMES[panel.over])
        found.append(_panel(axes, panel, value, of, front))
        if not same:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
            axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=DECADES))
    if same:
        grid[0].set_ylim(bottom=0)  # after all lines: a fixed limit ends the automatic scaling
    if value == "of_copy":
        grid[0].yaxis.set_major_formatter(PercentFormatter(1))
    for unused in grid[len(parts) :]:
        unused.set_axis_off()
    # at the top right; lines of other panels have their labels there, too
    lines = {line.get_gid(): line for each in [*found[::-1], found[across - 1]] for line in each}
    _label_ends(grid[across - 1], list(lines.values()))
    return figure


def _panel(axes: Axes, panel: Panel, value: str, of: Selection, front: set[str]) -> list[Line2D]:
    """Draw and return the lines of one panel and its roofline."""
    _, rows, over = panel
    drawn, published = [], rows["origin"] == "published"
    for tables in sorted(set(published)):
        end = " (published)" if tables and not published.all() else ""
        groups = rows[published == tables].sort_values(over).groupby("variant")
        for name, part in sorted(groups, key=lambda group: palette.order(group[0])):
            look, gid = of.styles[name], name + end
            shape = {"lw": 1.5, "ms": 4.5, "zorder": 3} if name in front else {"lw": 0.8, "ms": 3.2}
            shape |= {"ls": "none" if over != "N" else "--" if tables else "-", "gid": gid}
            shape |= {"markevery": SPARSE if over == "N" and len(part) > MAX_MARKERS else None}
            shape |= {"color": look.colour, "marker": look.marker, "markeredgewidth": 0.7}
            shape |= {"markerfacecolor": "white" if tables else look.colour, "label": gid}
            drawn += axes.plot(part[over], part[value], **shape)
            marks = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center"}
            for row in part[part["flags"].map(mark) != ""].to_dict("records"):
                sign, place = mark(row["flags"]), (row[over], row[value])
                axes.annotate(sign, place, color=look.colour, gid=f"{gid} {sign}", **marks)
            # the unit of the interval is the time of torch
            ends = [part[f"speedup_{end}"] / part["speedup"] for end in ("low", "high")]
            ends = [part[value] * (1 / end if value == "time_us" else end) for end in ends]
            bar = {"lw": 5, "alpha": 0.3, "zorder": 1.5, "gid": f"{gid} bar"}
            axes.vlines(part[over], *ends, color=look.colour, **bar)
    rates, gid, text = copy_rate(rows, over), "copy", "copy (roofline)"
    moved_kb = (rows["throughput_gbps"] * rows["time_us"]).groupby(rows[over]).median()
    if rates.empty:
        peaks = {source.gpu: source.memory_peak_gbps for source in of.sources}
        peak, gid = peaks.get(rows["gpu"].iloc[0]) or np.nan, "peak"
        rates, text = peak + 0 * moved_kb, f"{peak} GB/s (data sheet)"
    roofs = {"time_us": moved_kb / rates, "throughput_gbps": rates, "of_copy": rates / rates}
    if value in roofs and len(roof := roofs[value].dropna()):
        shape = {"color": "0.25", "lw": 1.0, "zorder": 2.5, "ls": "--" if gid == "copy" else ":"}
        shape |= {"marker": "_", "markersize": 15} if len(roof) == 1 else {}
        drawn += axes.plot(roof, gid=gid, label=text, **shape)
    return drawn


def _label_ends(axes: Axes, lines: Sequence[Line2D]) -> None:
    """Write each line's name right of the axes, near the height of its end, behind its look."""
    axes.figure.draw_without_rendering()  # so that the height of the axes is final
    box, dpi = axes.get_window_extent(), axes.figure.dpi
    gap, inch = 1.3 * style.TEXT / 72 * dpi / box.height, dpi / box.width
    ends = {}
    for line in lines:
        end = line.axes.transData.transform(line.get_xydata()[-1])
        same = line.axes.get_ylim() == axes.get_ylim()
        ends[line] = line.axes.transAxes.inverted().transform(end) if same else (0, 0)
    lines, steps = sorted(lines, key=lambda line: ends[line][1]), gap * np.arange(len(lines))
    least = np.maximum.accumulate([max(ends[line][1], gap / 2) for line in lines] - steps)
    heights = np.minimum(least, 1 - gap / 2 - steps[-1]) + steps
    for line, y in zip(lines, heights, strict=True):
        look = {"color": line.get_color(), "transform": axes.transAxes, "clip_on": False}
        x, end = ends[line]
        if line.axes is axes and x > 0.6:  # a longer leader would cross the other lines
            axes.plot([x, 1 + 0.1 * inch], [end, y], ls=(0, (1, 2)), lw=0.6, zorder=1.1, **look)
        sample = axes.add_artist(Line2D(1 + inch * np.array([0.1, 0.25, 0.4]), [y] * 3))
        sample.update_from(line)
        sample.set(markevery=[1], gid=None, **look)
        weight = "bold" if line.get_linewidth() > 1.2 else "normal"
        axes.text(1 + 0.47 * inch, y, line.get_label(), va="center", weight=weight, **look)
