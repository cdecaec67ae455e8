"""The performance profile: at how many sizes a kernel is near the fastest."""

import numpy as np
import seaborn as sns
from matplotlib import pyplot as plt
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
    excludes does not count (Dolan and Moré, Mathematical Programming 91, 2002).
    """
    rows = selection.own[selection.own["flags"] != CONTROL]
    table = ranking.profile(rows)
    # without a variant all of whose times are excluded, as those of overlapping calls
    table = table.loc[:, np.isfinite(table).any() | table.notna().all()]
    shares = {name: percent(ranking.share_within(table[name], 100 * NEAR)) for name in table}
    # Beyond the right end, infinity is a number like all others, and seaborn needs one.
    behind = (table - 1).clip(upper=2 * FURTHEST).melt(value_name="behind").dropna()
    colours = {name: selection.styles[name].colour for name in table}
    figure, axes = plt.subplots()
    line = {"palette": colours, "legend": False, "linewidth": 1.6}
    sns.ecdfplot(behind, x="behind", hue="variant", ax=axes, **line)
    for curve in axes.lines:  # seaborn ends a curve at its last step
        x, y = curve.get_data()
        curve.set_data(np.append(x, FURTHEST), np.append(y, y[-1]))
    axes.axvline(NEAR, color="0.25", lw=0.8, ls=":")
    axes.set(
        xlim=(0, FURTHEST),
        ylim=(0, 1.02),
        xlabel="slower than the fastest by at most",
        ylabel="share of shapes",
    )
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    names = {name: f"{name}, {share} within {percent(NEAR)}" for name, share in shares.items()}
    finding = findings.profile(table, NEAR, distinct(rows["baseline"]))
    about = (
        f"{counted(len(table), 'shape')} with at least two kernels; "
        "a kernel that cannot run or is wrong counts as slower"
    )
    margins = (0.75, labels.width([*names.values()]) + 0.06)
    style.finish(figure, 2.9, finding, about, style.facts(selection), margins, above=0.1)
    ends = (
        labels.End(names[name], ranking.share_within(table[name], 100 * FURTHEST), colours[name])
        for name in table
    )
    labels.write(axes, [*ends])
    return figure
