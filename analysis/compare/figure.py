"""The comparison as a figure: every timed point with its interval, worst first."""

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from analysis import palette
from analysis.compare import verdict
from analysis.compare.verdict import Limits
from analysis.figures import axes as shared

# Different in colour, and in shape for the colour-blind.
STYLES = {
    verdict.SLOWER: palette.Style(palette.VERMILION, "v"),
    verdict.UNCLEAR: palette.Style(palette.ORANGE, "D"),
    verdict.SAME: palette.Style(palette.GREY, "o"),
    verdict.FASTER: palette.Style(palette.BLUE, "^"),
}
MAX_NAMES = 40  # more names under the axis would overlap at this width
WIDTH, HEIGHT = 9.0, 4.6  # inches


def draw(changes: pd.DataFrame, limits: Limits) -> Figure:
    """Draw the change of speed in per cent, with its 95 % interval, from the worst point on.

    `changes` as verdict.judge made it. gid of a point's interval: `{verdict} {M}x{N} {variant}`.
    Points without a ratio are left out and counted.
    """
    with matplotlib.rc_context(shared.THEME):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        timed = changes[changes["ratio"].notna()].sort_values("ratio", kind="stable")
        if timed.empty:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "no point was timed in both runs", ha="center", va="center")
        else:
            _points(axes, timed, limits)
        gpu = "/".join(sorted(set(changes.index.get_level_values("gpu"))))
        title = f"NEW against OLD on {gpu}: {verdict.counts(changes)}"
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        return figure


def _points(axes: Axes, timed: pd.DataFrame, limits: Limits) -> None:
    margin, threshold = 100 * limits.margin, -100 * (1 - 1 / (1 + limits.threshold))
    axes.axhspan(-margin, margin, color="0.93", zorder=0)
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.axhline(threshold, color=palette.VERMILION, linewidth=0.8, linestyle="--")
    off = 100 * (timed[["ratio", "low", "high"]] - 1)
    for place, (point, row) in enumerate(timed.iterrows()):
        style, (value, low, high) = STYLES[row["verdict"]], off.iloc[place]
        *_, m, n, variant = point
        (line,) = axes.plot([place, place], [low, high], color=style.colour, linewidth=1.2)
        line.set_gid(f"{row['verdict']} {m}x{n} {variant}")
        axes.plot(place, value, style.marker, color=style.colour, markersize=4)
    for name, style in STYLES.items():
        if count := (timed["verdict"] == name).sum():
            label = f"{name} ({count})"
            axes.plot([], [], style.marker, color=style.colour, markersize=5, label=label)
    axes.legend(loc="upper left", frameon=False)
    # A single wild point must not flatten all others, nor a margin fill the figure.
    axes.set_yscale("symlog", linthresh=2 * margin)
    axes.yaxis.set_major_locator(FixedLocator(_ticks(*axes.get_ylim())))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:+g} %" if y else "0"))
    axes.set_ylabel("change of speed, 95 % interval\n(grey: the same; dashed: threshold)")
    axes.margins(x=0.02)
    axes.grid(axis="x", visible=False)
    if len(timed) > MAX_NAMES:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("points, from the worst to the best")
    else:
        names = [f"{point[-1]} {point[-3]}x{point[-2]}" for point in timed.index]
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)


def _ticks(low: float, high: float) -> list[float]:
    """0 and ±1, 2 and 5 times powers of ten, from a half on, that lie between `low` and `high`."""
    sizes = [0.5, *(first * 10.0**power for power in range(6) for first in (1, 2, 5))]
    return [tick for tick in (*(-size for size in sizes[::-1]), 0, *sizes) if low <= tick <= high]
