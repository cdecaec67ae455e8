"""Lines: time and throughput over N, GPUs side by side, published beside measured, profiles."""

from collections.abc import Collection

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from analysis import palette, ranking
from analysis.figures import style
from analysis.frame import distinct, is_baseline, is_ranked
from analysis.markdown import percent
from analysis.panels import CONTROL, Selection, panels, rule_of_m

Parts = dict[str, pd.DataFrame]  # title -> rows of a panel
NAMES = {"throughput_gbps": "throughput (GB/s)", "of_copy": "% of copy bandwidth"}
NAMES |= {"time_us": "time (µs)", "over_base": "speed ratio"}
NAMES |= {"N": "N (columns)", "elements": "M·N (elements)"}
CPU = "cpu"  # its times never stand beside those of a GPU
HIGHLIGHTED = 5  # variants besides torch
MAX_MARKERS, SPARSE = 20, 0.05  # a longer line has a marker only every SPARSE diagonals
BARS = "bars: 95 % interval of the ratio to torch, spread between processes included"
BOLD = f"bold: torch and the {HIGHLIGHTED} kernels that are most often in the best set"
POINT = ["op", "M", "N", "variant"]
# The rows of the figure for the top of README.md, by column.
HERO = {
    "variant": ("torch_softmax", "peer_compile", "peer_liger", "peer_quack", "frontier"),
    "op": ("softmax",),
    "dtype": ("float32", "bfloat16"),
}
SHARES = (0, 1, 4, 10, 30, 100, 300)  # per cent; linear up to 1, then logarithmic
NEAR = 5  # per cent behind the fastest: the legend of a profile has this share
PROFILE = (
    "of matrices where two variants rank; what cannot run or is wrong counts as slow, a time that "
    "a flag or its environment excludes does not count (Dolan and Moré, Math. Programming 91, 2002)"
)


def draw_over_n(selection: Selection, value: str) -> Figure:
    """Draw time_us or throughput_gbps over N, a line (gid: its name) for each timed variant.

    The roofline is the copy in the same processes (gid `copy`) or, for a published table, the
    vendor's memory peak (gid `peak`). Few long rows have a second one (gid `meet`). Where no rule
    gives M, points stand over M·N. GPUs stand side by side.
    """
    title = style.heading(selection, f"{NAMES[value].split(' (')[0].capitalize()} over N")
    notes = [BARS, BOLD] * (len(selection.own) > 0)
    return _draw(panels(selection.rows), value, title, notes, selection)


def draw_hero(selection: Selection) -> Figure:
    """Draw the fraction of copy bandwidth over N of HERO, a panel for each dtype.

    The rows are those of the GPU and the M with the most of these variants; of several, with the
    most processes, and then the most sizes. A point of several sweeps is their median.
    """
    rows = selection.own[selection.own[list(HERO)].isin(HERO).all(axis=1)]
    title, parts, notes = "How near each kernel comes to copy bandwidth", {}, []
    timed = rows[is_ranked(rows, any_board=True)]
    if len(timed):
        most = {"variant": "nunique", "processes": "max", "N": "nunique"}
        gpu, m = timed.groupby(["gpu", "M"]).agg(most).sort_values([*most], kind="stable").index[-1]
        rows, timed = (each[(each["gpu"] == gpu) & (each["M"] == m)] for each in (rows, timed))
        groups = timed.groupby(["dtype", "variant", "N"])
        medians = groups[["of_copy", "speedup", "speedup_low", "speedup_high"]].median()
        merged = groups.first().assign(**medians, flags=groups["flags"].agg(" ".join))
        dtypes = merged.index.unique("dtype")[::-1]
        parts = {dtype: merged.loc[[dtype]].reset_index() for dtype in dtypes}
        title += f": {timed['op'].iloc[0]}, M = {m}, {timed['gpu_name'].iloc[0]}"
        sweeps = ", ".join(distinct(timed["sweep"]))
        notes = [f"sweeps {sweeps}; a point of several is their median", BARS]
    return _draw(parts, "of_copy", title, notes, selection._replace(rows=rows))


def draw_published(selection: Selection, tables: pd.DataFrame) -> Figure:
    """Draw rows of published tables, of any GPU, and the measured rows at their points.

    They are ratios to torch, or to the slowest variant of tables without torch.
    """
    own = selection.own.merge(tables[POINT].drop_duplicates(), on=POINT)
    rows = pd.concat([own, tables], ignore_index=True)
    of = selection._replace(rows=rows)
    slowest = np.log(tables["time_us"].astype(float)).groupby(tables["variant"]).mean().idxmax()
    base = next(iter(tables.loc[is_baseline(tables), "variant"]), slowest)
    # a published table without torch has times alone
    speed = rows["speedup"].astype(float).fillna(1 / rows["time_us"])
    shape = [rows[name] for name in ("gpu", "origin", *POINT[:3])]
    of_base = speed.where(rows["variant"] == base).groupby(shape).transform("max")
    rows = rows.assign(over_base=speed / of_base, gpu="")  # in one panel
    title = style.heading(of, f"Published and measured speed over {base}")
    return _draw(panels(rows), "over_base", title, [BARS], of)


def draw_profile(selection: Selection) -> Figure:
    """Draw the share of matrices up to x % behind the fastest, a line (gid: its name) each."""
    of = selection._replace(rows=selection.own[selection.own["flags"] != CONTROL])
    table = ranking.profile(of.rows)
    title = style.heading(of, f"Performance profile of {len(table)} matrices")
    figure = style.page(4, title, style.footer(of, [PROFILE]))
    axes = figure.subplots()
    axes.set_xscale("symlog", linthresh=1, subs=[1])
    axes.set(xlim=(0, SHARES[-1]), ylim=(0, 1.02), xticks=SHARES, xticklabels=SHARES)
    axes.set(xlabel="slower than the fastest by at most (%)", ylabel="share of matrices")
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    near = {name: ranking.within(table[name], NEAR) for name in table}
    for name in sorted(table, key=lambda name: (-near[name], palette.order(name))):
        steps, look = 100 * (table[name].dropna() - 1), selection.styles[name]
        x = np.unique([0, *steps[steps < SHARES[-1]], SHARES[-1]])
        y = [(steps <= most).mean() for most in x]
        few = f" (of {len(steps)})" if len(steps) < len(table) else ""
        shape = {"ds": "steps-post", "ms": 4, "markevery": 0.1, "lw": 1.2, "gid": name}
        shape |= {"color": look.colour, "marker": look.marker}
        axes.plot(x, y, label=f"{percent(near[name])}  {name}{few}", **shape)
    figure.legend(loc="outside right upper", title=f"within {NEAR} % of the fastest")
    return figure


def _draw(parts: Parts, value: str, title: str, notes: list[str], of: Selection) -> Figure:
    """Draw panels with one axis of values, except time."""
    fine_print = style.footer(of, notes)
    if not parts:
        return style.page(0, f"{title}: no timed rows", fine_print)
    across = {1: 1, 2: 2, 4: 2}.get(len(parts), 3)
    down = -(-len(parts) // across)
    names = {name for rows in parts.values() for name in rows["variant"]}
    front = {*ranking.highlighted(of.own, HIGHLIGHTED)} if BOLD in notes else names
    height = max(4.2, down * max(2.4, 0.16 * len(names) + 1))  # each panel has room for labels
    figure = style.page(height, title, fine_print)
    same = value != "time_us"
    grid = figure.subplots(down, across, squeeze=False, sharey=same).ravel()
    for number, (axes, (name, rows)) in enumerate(zip(grid, parts.items(), strict=False)):
        axes.set(title=name, ylabel="" if same and number % across else NAMES[value])
        _panel(axes, rows, value, of, front)
        if not same:
            axes.set_yscale("log", subs=[2, 5])
            axes.yaxis.set(major_formatter="{x:,.10g}", minor_formatter="{x:,.10g}")
    if same:
        grid[0].set_ylim(bottom=0)  # after all lines: a fixed limit ends the automatic scaling
    if value == "of_copy":
        grid[0].yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    for unused in grid[len(parts) :]:
        unused.set_axis_off()
    # at the top right; lines of other panels have their labels there, too
    every = [line for axes in [*grid[::-1], grid[across - 1]] for line in axes.lines]
    _label_ends(grid[across - 1], {line.get_gid(): line for line in every}.values())
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, value: str, of: Selection, front: set[str]) -> None:
    """Draw the lines of one panel and its rooflines."""
    # without a rule for M, a line over N would join what has nothing in common
    over, published = "N" if rule_of_m(rows) else "elements", rows["origin"] == "published"
    axes.set_xscale("log", base=2, subs=[])
    axes.xaxis.set_major_formatter(lambda n, _: style.size_label(round(n)))
    axes.set_xlabel(NAMES[over])
    groups = rows.sort_values(over).groupby([published, "variant"])
    for (table, name), part in sorted(groups, key=lambda of: (of[0][0], palette.order(of[0][1]))):
        look, gid = of.styles[name], f"{name} (published)" if table and not all(published) else name
        shape = {"lw": 1.5, "ms": 4.5, "zorder": 3} if name in front else {"lw": 0.8, "ms": 3.2}
        shape |= {"ls": "none" if over != "N" else "--" if table else "-", "gid": gid, "label": gid}
        shape |= {"markevery": SPARSE if over == "N" and len(part) > MAX_MARKERS else None}
        shape |= {"color": look.colour, "marker": look.marker, "markeredgewidth": 0.7}
        axes.plot(part[over], part[value], mfc="white" if table else look.colour, **shape)
        signs = style.signs(of, part["flags"])
        for sign, *place in zip(signs, part[over], part[value], strict=True):
            marks = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center"}
            if sign:
                axes.annotate(sign, place, color=look.colour, gid=f"{gid} {sign}", **marks)
        # the unit of the interval is the time of torch
        ends = [part[f"speedup_{end}"] / part["speedup"] for end in ("low", "high")]
        ends = [part[value] * (1 / end if value == "time_us" else end) for end in ends]
        bar = {"lw": 5, "alpha": 0.3, "zorder": 1.5, "gid": f"{gid} bar"}
        axes.vlines(part[over], *ends, color=look.colour, **bar)
    peak = rows["roof_gbps"].where(~published | published.all())
    roofs = [(peak, "copy", "copy (roofline)", "--")]
    if published.all():
        roofs = [(peak, "peak", f"{peak.max():g} GB/s (data sheet)", ":")]
    roofs += [(rows["meet_gbps"], "meet", "read, meet, write", "-.")]
    for rates, gid, text, dashes in roofs:
        times = rows["throughput_gbps"] * rows["time_us"] / rates
        drawn = {"time_us": times, "throughput_gbps": rates, "of_copy": rates / peak}
        if value in drawn and len(roof := drawn[value].groupby(rows[over]).median().dropna()):
            shape = {"marker": "_", "ms": 15} if len(roof) == 1 else {}
            if gid == "meet" and over != "N":  # of unlike matrices, as the points are
                dashes, shape = "none", {"marker": "_", "ms": 9}
            axes.plot(roof, gid=gid, label=text, color="0.25", lw=1, ls=dashes, zorder=2.5, **shape)


def _label_ends(axes: Axes, lines: Collection[Line2D]) -> None:
    """Write each line's name right of the axes, near the height of its end, behind its look."""
    axes.figure.draw_without_rendering()  # so that the height of the axes is final
    box, dpi = axes.get_window_extent(), axes.figure.dpi
    gap, inch = 1.3 * style.TEXT / 72 * dpi / box.height, dpi / box.width
    to_axes = {line: line.axes.transData - line.axes.transAxes for line in lines}
    ends = {line: to_axes[line].transform(line.get_xydata()[-1]) for line in lines}
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
