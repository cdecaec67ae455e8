"""Published times beside measured ones, as points.

They are no bars: a logarithmic axis has no zero, so the length of a bar would mean nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis import palette, stats
from analysis.figures import axes as shared
from analysis.figures.layout import DOUBLE, Page, fine_print, heading, text_width
from analysis.frame import is_ranked, mark
from analysis.panels import Selection
from analysis.schema import BASELINE

# Inches: from one point to the next, between two sizes, the heights of the axes and of a text line.
STEP, SPACE, HEIGHT, LINE = 0.24, 0.2, 2.0, 0.13
LEFT, RIGHT, ABOVE = 1.05, 0.05, 0.12  # inches: margins
VALUE, WORDS = 5.5, 6  # points
WHISKERS = (
    "whiskers: 0.2 to 0.8 quantile of the times, where that is longer than the point is high; "
    "in brackets: 95 % interval"
)

Point = tuple[int, int]  # M, N


@dataclass(frozen=True)
class Series:
    """The times of one variant from one origin: `rows` maps (M, N) to the row."""

    variant: str
    style: palette.Style
    origin: str
    where: str
    rows: dict[Point, dict]

    def marker(self) -> dict:
        """Return matplotlib's options: a measured point is full, a published one hollow."""
        full = "white" if self.origin == "published" else self.style.colour
        edge = {"markeredgecolor": self.style.colour, "markeredgewidth": 1.0}
        shape = {"marker": self.style.marker, "markersize": 5.5, "linestyle": "none"}
        return {**shape, **edge, "markerfacecolor": full}


def draw_published(selection: Selection) -> Figure:
    """Draw the time in µs (log) at every published (M, N), published beside measured.

    Whiskers of measured points go from the 0.2 to the 0.8 quantile. Below each size is the speed of
    each variant over the baseline (see _baseline); a measured ratio has its 95 % interval. The gid
    of a point is `{variant} {origin} {N}`.
    """
    with matplotlib.rc_context({**shared.THEME, "axes.grid.axis": "y"}):
        own = selection.own[is_ranked(selection.own)]
        tables = selection.published
        series = [one for rows in (tables, own) for one in _series(rows, selection.styles)]
        points = sorted({point for one in series for point in one.rows}, key=lambda p: p[::-1])
        lines = _lines_below(series, points)
        least = max(SPACE + len(series) * STEP, *(_widest(words) for _, words in lines))
        across = max(len(points) * least, DOUBLE - LEFT - RIGHT)
        top = ABOVE + LINE * len(series)
        page = Page(
            LEFT + across + RIGHT,
            top + HEIGHT + LINE * len(lines) + 0.1,
            heading(selection, _what(selection, own)),
            fine_print(selection, 1, 1, *([WHISKERS] if len(own) else [])),
        )
        axes = page.axes(LEFT, top, across, HEIGHT)
        _draw_points(axes, series, points, across / len(points))
        _write_below(axes, lines)
        page.figure.legend(
            handles=[
                Line2D([], [], **one.marker(), label=f"{one.variant}, {one.where}")
                for one in series
            ],
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


def _series(rows: pd.DataFrame, styles: Mapping[str, palette.Style]) -> list[Series]:
    """Return a series for each GPU, origin, distribution and variant; `rows` have one operation."""
    series = []
    for (name, origin, input_, variant), part in rows.groupby(
        ["gpu_name", "origin", "distribution", "variant"]
    ):
        note = ", not measured here" if origin == "published" else ""
        where = f"{origin}{note} ({name}, {input_} input)"
        by_point = {(row["M"], row["N"]): row for row in part.to_dict("records")}
        series.append(Series(variant, styles[variant], origin, where, by_point))
    return sorted(series, key=lambda one: (one.where, palette.order(one.variant)))


def _draw_points(axes: Axes, series: list[Series], points: list[Point], width: float) -> None:
    step = (1 - SPACE / width) / len(series)  # in sizes, each `width` inches wide
    for i, one in enumerate(series):
        for place, point in enumerate(points):
            if (row := one.rows.get(point)) is None:
                continue
            x, time = place + (i - (len(series) - 1) / 2) * step, row["time_us"]
            gid = f"{one.variant} {one.origin} {point[1]}"
            axes.plot(x, time, zorder=2, gid=gid, **one.marker())
            low, high = row["time_us_q20"], row["time_us_q80"]
            if not math.isnan(low):
                axes.plot((x, x), (low, high), color="black", lw=0.9, zorder=1.9, gid=f"{gid} q")
            axes.annotate(
                f"{float(f'{time:.3g}'):,.10g}{mark(row['flags'])}",
                (x, time if math.isnan(high) else high),
                xytext=(0, 5),  # above the marker
                textcoords="offset points",
                ha="center",
                fontsize=VALUE,
            )
    times = [row["time_us"] for one in series for row in one.rows.values()]
    axes.set_yscale("log")
    axes.set_ylim(min(times) / 1.6, max(times) * 2)  # values stand above the points
    for place in range(1, len(points)):  # between two sizes
        axes.axvline(place - 0.5, color="0.9", lw=0.5, zorder=0.5)
    axes.set_xlim(-0.5, len(points) - 0.5)
    axes.set_xticks([])
    axes.set_ylabel("time (µs)")
    shared.label_time(axes)


def _lines_below(series: list[Series], points: list[Point]) -> list[tuple[str, list[str]]]:
    """Return the lines of a table: a name, and a word for each point; a heading has no words."""
    lines = [
        ("N (columns)", [str(n) for _, n in points]),
        ("M (rows)", [str(m) for m, _ in points]),
    ]
    baseline = _baseline(series)
    by_key = {(one.variant, one.where): one for one in series}
    for variant in sorted({one.variant for one in series} - {baseline}, key=palette.order):
        lines.append((f"speed of {variant} over {baseline}:", []))
        for one in (one for one in series if one.variant == variant):
            other = by_key.get((baseline, one.where))
            words = [_ratio(one, other, point) for point in points]
            (gpu,) = {row["gpu"] for row in one.rows.values()}
            lines.append((f"{one.origin}, {gpu}", words))
    return lines


def _baseline(series: list[Series]) -> str:
    """Return torch, or the slowest variant of a published table without torch."""
    tables = [one for one in series if one.origin == "published"]
    if BASELINE in {one.variant for one in tables}:
        return BASELINE
    slowest = max(tables, key=lambda s: sum(math.log(row["time_us"]) for row in s.rows.values()))
    return slowest.variant


def _ratio(one: Series, other: Series | None, point: Point) -> str:
    if other is None or point not in one.rows or point not in other.rows:
        return "none"
    return str(stats.estimate(one.rows[point]).minus(stats.estimate(other.rows[point])))


def _write_below(axes: Axes, lines: list[tuple[str, list[str]]]) -> None:
    for i, (name, words) in enumerate(lines):
        y = -(i + 0.8) * LINE / HEIGHT
        style = {"va": "center", "fontsize": WORDS, "transform": axes.get_xaxis_transform()}
        axes.text(-0.5, y, f"{name}  " if words else name, ha="right" if words else "left", **style)
        for place, word in enumerate(words):
            axes.text(place, y, word, ha="center", **style)
