"""Lines over N: a variant with its spread, a roofline, and the labels at their ends."""

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from analysis.frame import mark
from analysis.palette import Style

ROOFLINE = "0.25"
DASHES = (0, (5, 2.5))
MAX_MARKERS = 20  # a line of more points has a marker only every SPARSE
SPARSE = 0.06  # distance of such markers, in diagonals of the axes
LABEL = 6.5  # points
GAP = 0.2  # inches between axes and labels
LABEL_HEIGHT = 1.25 * LABEL / 72  # inches from one label to the next
# The leader joins a line's end to its label. It crosses the axes where the line ends early. Grey,
# dotted, and behind all but the grid, it does not look like data.
LEADER = {"color": "0.6", "lw": 0.6, "linestyle": (0, (1, 2)), "shrinkA": 1, "shrinkB": 2}
BEHIND = 1.1  # zorder


@dataclass(frozen=True)
class End:
    """A line's right end in data coordinates, its colour, and its label."""

    x: float
    y: float
    colour: str
    text: str
    bold: bool = False


def draw_line(
    axes: Axes, rows: pd.DataFrame, value: str, style: Style, text: str, bold: bool
) -> End:
    """Draw `value` of the rows of one variant over N; return its end for a label `text`.

    A published line is dashed with hollow markers. A measured line has a band from the 0.2 to the
    0.8 quantile of the time. The gid of the line is `text`, that of the band `{text} band`.
    """
    published = (rows["origin"] == "published").all()
    kind = {"linestyle": "--", "markerfacecolor": "white"} if published else {"linestyle": "-"}
    axes.plot(
        rows["N"],
        rows[value],
        color=style.colour,
        marker=style.marker,
        markersize=4 if bold else 2.8,
        markeredgewidth=0.6,
        markevery=None if len(rows) <= MAX_MARKERS else SPARSE,
        linewidth=1.4 if bold else 0.8,
        zorder=3 if bold else 2,
        gid=text,
        **kind,
    )
    for n, y, sign in zip(rows["N"], rows[value], rows["flags"].map(mark), strict=True):
        if sign:
            axes.annotate(sign, (n, y), xytext=(0, 2), textcoords="offset points", fontsize=5)
    low, high = (_at_quantile(rows, value, name) for name in ("time_us_q20", "time_us_q80"))
    if (low.notna() & high.notna()).any():
        band = {"color": style.colour, "alpha": 0.25, "zorder": 1.5, "gid": f"{text} band"}
        if len(rows) == 1:  # a band over one size would have no width
            ends = [*low, *high]
            axes.plot([*rows["N"]] * 2, ends, linewidth=6, solid_capstyle="butt", **band)
        else:
            axes.fill_between(rows["N"], low, high, linewidth=0, **band)
    return End(rows["N"].iloc[-1], rows[value].iloc[-1], style.colour, text, bold)


def _at_quantile(rows: pd.DataFrame, value: str, quantile: str) -> pd.Series:
    """Return `value` at a quantile of the times; a rate is inverse to its time."""
    if value == "time_us":
        return rows[quantile]
    return rows[value] * rows["time_us"] / rows[quantile]


def draw_roofline(axes: Axes, limits: pd.Series, gid: str, text: str) -> End:
    """Draw a limit over N; return its end for a label `text`."""
    style = {"color": ROOFLINE, "linestyle": DASHES, "lw": 1.0, "zorder": 2.5}
    dash = {"marker": "_", "markersize": 15} if len(limits) == 1 else {}
    axes.plot(limits.index, limits, gid=gid, **style, **dash)
    return End(limits.index[-1], limits.iloc[-1], ROOFLINE, text)


def spread(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions in the same order, at least `gap` apart, between `low` and `high`.

    Labels that meet move up, and then down from `high`, as in the page (chart.js).
    """
    placed, order = list(positions), sorted(range(len(positions)), key=positions.__getitem__)
    for i in order:
        placed[i] = max(positions[i], low)
        low = placed[i] + gap
    for i in reversed(order):
        placed[i] = min(placed[i], high)
        high = placed[i] - gap
    return placed


def label_ends(axes: Axes, ends: list[End]) -> None:
    """Write each label right of the axes, level with its line where there is room.

    Call it when the limits and the position of the axes are final, because it works in pixels.
    """
    if not ends:
        return
    box, dpi = axes.get_window_extent(), axes.figure.dpi
    heights = [axes.transData.transform((end.x, end.y))[1] for end in ends]
    half = LABEL_HEIGHT * dpi / 2
    placed = spread(heights, 2 * half, box.y0 + half, box.y1 - half)
    for end, y in zip(ends, placed, strict=True):
        axes.annotate(
            end.text,
            xy=(end.x, end.y),
            xytext=(1 + GAP * dpi / box.width, (y - box.y0) / box.height),
            textcoords="axes fraction",
            color=end.colour,
            fontsize=LABEL,
            fontweight="bold" if end.bold else "normal",
            va="center",
            annotation_clip=False,
            zorder=BEHIND,
            arrowprops={"arrowstyle": "-", "relpos": (0, 0.5), **LEADER},
        )
