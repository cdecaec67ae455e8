"""Published times beside measured ones, as points: what the command `bars` draws.

Not as bars: on a logarithmic axis a bar's length means nothing, as the axis has no zero.
"""

import math

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures import axes as shared
from analysis.figures import caption
from analysis.figures.page import DOUBLE, Page, text_width
from analysis.figures.select import Selection
from analysis.figures.series import Series, compared, series_of
from analysis.frame import timed

# Inches: from one point to the next, as wide as a value; the space between two sizes; the height of
# the axes and of a line of text; the margins.
STEP, APART, HEIGHT, LINE = 0.24, 0.2, 2.0, 0.13
LEFT, RIGHT, ABOVE = 1.05, 0.05, 0.12
VALUE, WORDS = 5.5, 6  # points
WHISKERS = (
    "whiskers: 0.2 to 0.8 quantile of the times, where that is longer than the point is high; "
    "in brackets: 95 % interval"
)


def draw_published(selection: Selection) -> Figure:
    """Time in µs (log) for every published (M, N), published beside measured.

    Whiskers of measured points go from the 0.2 to the 0.8 quantile, behind the points. Below every
    size: how many times faster each variant is than the table's torch or, where it has none, than
    its slowest variant; measured ratios with their 95 % interval. gid of a point:
    `{variant} {origin} {N}`.
    """
    with matplotlib.rc_context({**shared.THEME, "axes.grid.axis": "y"}):
        own = selection.own[timed(selection.own)]
        tables = selection.published
        series = [one for rows in (tables, own) for one in series_of(rows, selection.styles)]
        points = sorted({point for one in series for point in one.rows}, key=lambda p: p[::-1])
        lines = compared(series, points)
        least = max(APART + len(series) * STEP, *(_widest(words) for _, words in lines))
        across = max(len(points) * least, DOUBLE - LEFT - RIGHT)
        top = ABOVE + LINE * len(series)
        page = Page(
            LEFT + across + RIGHT,
            top + HEIGHT + LINE * len(lines) + 0.1,
            caption.heading(selection, _what(selection, own)),
            caption.fine_print(selection, 1, 1, *([WHISKERS] if len(own) else [])),
        )
        axes = page.axes(LEFT, top, across, HEIGHT)
        _points(axes, series, points, across / len(points))
        _write_below(axes, lines)
        page.figure.legend(
            handles=[_handle(one) for one in series],
            loc="upper left",
            bbox_to_anchor=page.at(0.05, 0),
            borderaxespad=0,
            frameon=False,
            fontsize=WORDS,
            labelspacing=0.25,
        )
        return page.figure


def _what(selection: Selection, own: pd.DataFrame) -> str:
    if len(own):
        return "published beside measured times"
    here = selection.own.empty and selection.gpu in set(selection.published["gpu"])
    return "published times" if here else f"{selection.gpu} has no timed row at these points"


def _widest(words: list[str]) -> float:
    return max((text_width(word, WORDS) + 0.08 for word in words), default=0)


def _handle(one: Series) -> Line2D:
    return Line2D([], [], **one.looks(), label=f"{one.variant}, {one.where}")


def _points(axes: Axes, series: list[Series], points: list[tuple[int, int]], width: float) -> None:
    step = (1 - APART / width) / len(series)  # in sizes, each `width` inches wide
    for i, one in enumerate(series):
        for place, point in enumerate(points):
            if (row := one.rows.get(point)) is None:
                continue
            x, time = place + (i - (len(series) - 1) / 2) * step, row["time_us"]
            gid = f"{one.variant} {one.origin} {point[1]}"
            axes.plot(x, time, zorder=2, gid=gid, **one.looks())
            low, high = row["time_us_q20"], row["time_us_q80"]
            if not math.isnan(low):
                axes.plot((x, x), (low, high), color="black", lw=0.9, zorder=1.9, gid=f"{gid} q")
            axes.annotate(
                _three_digits(time),
                (x, time if math.isnan(high) else high),
                xytext=(0, 5),  # above the marker
                textcoords="offset points",
                ha="center",
                fontsize=VALUE,
            )
    times = [row["time_us"] for one in series for row in one.rows.values()]
    axes.set_yscale("log")
    axes.set_ylim(min(times) / 1.6, max(times) * 2)  # above there are the values, too
    for place in range(1, len(points)):  # says which points are of one size
        axes.axvline(place - 0.5, color="0.9", lw=0.5, zorder=0.5)
    axes.set_xlim(-0.5, len(points) - 0.5)
    axes.set_xticks([])
    axes.set_ylabel("time (µs)")
    shared.label_time(axes)


def _write_below(axes: Axes, lines: list[tuple[str, list[str]]]) -> None:
    for i, (name, words) in enumerate(lines):
        y = -(i + 0.8) * LINE / HEIGHT
        look = {"va": "center", "fontsize": WORDS, "transform": axes.get_xaxis_transform()}
        axes.text(-0.5, y, f"{name}  " if words else name, ha="right" if words else "left", **look)
        for place, word in enumerate(words):
            axes.text(place, y, word, ha="center", **look)


def _three_digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.10g}"
