"""Published times beside measured ones, as bars."""

import math

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.figures import axes as shared
from analysis.figures.select import Selection
from analysis.figures.series import Series, compared, series_of
from analysis.frame import timed

# Inches: one bar, wide enough for its value; the space between two sizes; the height of the axes
# and of a line of text; the margins.
BAR, APART, HEIGHT, LINE = 0.44, 0.4, 3.4, 0.19
LEFT, RIGHT, BOTTOM = 1.65, 0.2, 0.65
NARROWEST = 9.0  # of a whole figure: heading and legend need that much


def draw_published(selection: Selection) -> Figure:
    """Bars of time in µs (log) for every published (M, N), published beside measured.

    Whiskers of measured bars go from the 0.2 to the 0.8 quantile. Below every size: how many times
    faster each variant is than the table's torch or, where it has none, than its slowest variant;
    measured ratios with their 95 % interval. gid of a bar: `{variant} {origin} {N}`.
    """
    with matplotlib.rc_context({**shared.THEME, "hatch.linewidth": 0.8, "axes.grid.axis": "y"}):
        own = selection.own[timed(selection.own)]
        series = [*series_of(selection.published), *series_of(own)]
        points = sorted({point for one in series for point in one.rows}, key=lambda p: p[::-1])
        lines = compared(series, points)
        across = len(points) * (len(series) * BAR + APART)
        width = max(LEFT + across + RIGHT, NARROWEST)
        # The heading has a second line where nothing was measured here.
        above = 0.5 if selection.own.empty else 0.3
        top, bottom = above + LINE * (len(series) + 1.5), BOTTOM + LINE * len(lines)
        height = top + HEIGHT + bottom
        figure = Figure(figsize=(width, height))
        place = (LEFT / width, bottom / height, across / width, HEIGHT / height)
        axes = figure.add_axes(place)
        _bars(axes, series, points)
        _write_below(axes, lines)
        if own.empty and (
            len(selection.own) or selection.gpu not in set(selection.published["gpu"])
        ):
            axes.set_title(f"{selection.gpu}: no timed row at these points", fontsize=9)
        figure.legend(
            handles=[Patch(**one.looks(), label=f"{one.variant}, {one.where}") for one in series],
            loc="upper left",
            bbox_to_anchor=(0.0, 1 - above / height),
            frameon=False,
            fontsize=8,
            labelspacing=0.35,
        )
        what = "published times" if selection.own.empty else "published beside measured times"
        shared.heading(figure, selection, what)
        shared.footer(figure, selection, 1, 1)
        return figure


def _bars(axes: Axes, series: list[Series], points: list[tuple[int, int]]) -> None:
    step = BAR / (len(series) * BAR + APART)
    for i, one in enumerate(series):
        for place, point in enumerate(points):
            if (row := one.rows.get(point)) is None:
                continue
            x, time = place + (i - (len(series) - 1) / 2) * step, row["time_us"]
            gid = f"{one.variant} {one.origin} {point[1]}"
            axes.bar(x, time, width=0.9 * step, zorder=2, gid=gid, **one.looks())
            low, high = row["time_us_q20"], row["time_us_q80"]
            if not math.isnan(low):
                axes.plot((x, x), (low, high), color="black", lw=1.2, zorder=3, gid=f"{gid} q")
            axes.annotate(
                _four_digits(time),
                (x, time if math.isnan(high) else high),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
            )
    times = [row["time_us"] for one in series for row in one.rows.values()]
    axes.set_yscale("log")
    # Half a decade below the shortest bar, so that it has a height; room for the values above.
    axes.set_ylim(min(times) / 10**0.5, max(times) * 1.6)
    axes.set_xlim(-0.5, len(points) - 0.5)
    axes.set_xticks([])
    axes.set_ylabel("time (µs)")
    shared.label_time(axes)


def _write_below(axes: Axes, lines: list[tuple[str, list[str]]]) -> None:
    for i, (name, words) in enumerate(lines):
        y = -(i + 0.75) * LINE / HEIGHT
        look = {"va": "center", "fontsize": 8, "transform": axes.get_xaxis_transform()}
        axes.text(-0.5, y, f"{name}  " if words else name, ha="right" if words else "left", **look)
        for place, word in enumerate(words):
            axes.text(place, y, word, ha="center", **look)


def _four_digits(value: float) -> str:
    return f"{float(f'{value:.4g}'):,.10g}"
