"""The performance profile: at how many sizes a kernel is near the fastest."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from analysis import ranking
from analysis.figures import findings, labels, style
from analysis.figures.panels import CONTROL, Selection
from analysis.frame import distinct
from analysis.markdown import counted, percent

NEAR = 0.05  # behind the fastest: the title and the names have the shares of this
FURTHEST = 0.5  # behind the fastest, at the right end


def draw_profile(selection: Selection) -> Figure:
    """Draw the share of sizes at which each variant is at most x slower than the fastest.

    A variant that cannot run or is wrong never comes near. A time that a flag or its environment
    excludes does not count (Dolan and Moré, Mathematical Programming 91, 2002). A second panel has
    the sizes that the title's runner-up runs, if these are not all.
    """
    rows = selection.own[selection.own["flags"] != CONTROL]
    table, baselines = ranking.profile(rows), distinct(rows["baseline"])
    # without a variant all of whose times are excluded, as those of overlapping calls
    table = table.loc[:, np.isfinite(table).any() | table.notna().all()]
    parts = {f"all {counted(len(table), 'shape')}": table}
    second = findings.runner_up(table, NEAR)
    if second and not (runs := np.isfinite(table[second])).all():
        parts[f"the {counted(runs.sum(), 'shape')} that {second} runs"] = table[runs]
    figure, panels = plt.subplots(1, len(parts), sharey=True, squeeze=False)
    ends = {
        axes: _draw_panel(axes, title, part, selection)
        for axes, (title, part) in zip(panels.flat, parts.items(), strict=True)
    }
    panels[0, 0].set_ylabel("share of shapes")
    about = (
        f"Number: the share of shapes within {percent(NEAR)} of the fastest; "
        "a kernel that cannot run or is wrong counts as slower"
    )
    room = labels.width([end.name for part in ends.values() for end in part]) + 0.06
    finding = findings.profile(table, NEAR, baselines)
    facts = style.facts(selection)
    style.finish(figure, 2.9, finding, about, facts, (0.75, room), (room + 0.2, 0))
    for axes, names in ends.items():
        labels.write(axes, names)
    return figure


def _draw_panel(
    axes: Axes, title: str, table: pd.DataFrame, selection: Selection
) -> list[labels.End]:
    """Draw a curve for each column of a profile; return the names at their ends."""
    # Beyond the right end, infinity is a number like all others, and seaborn needs one.
    behind = (table - 1).clip(upper=2 * FURTHEST).melt(value_name="behind").dropna()
    colours = {name: selection.styles[name].colour for name in table}
    look = {"palette": colours, "legend": False, "linewidth": 1.6}
    sns.ecdfplot(behind, x="behind", hue="variant", hue_order=[*table], ax=axes, **look)
    for curve in axes.lines:  # seaborn ends a curve at its last step
        x, y = curve.get_data()
        curve.set_data(np.append(x, FURTHEST), np.append(y, y[-1]))
    axes.axvline(NEAR, color="0.25", lw=0.8, ls=":")
    axes.set(xlim=(0, FURTHEST), ylim=(0, 1.02), xlabel="slower than the fastest by at most")
    axes.set(title=title, ylabel="")
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    within = {
        limit: {name: ranking.share_within(table[name], 100 * limit) for name in table}
        for limit in (NEAR, FURTHEST)
    }
    return [
        labels.End(f"{name}, {percent(within[NEAR][name])}", height, colours[name])
        for name, height in within[FURTHEST].items()
    ]
