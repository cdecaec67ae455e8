"""One line over N: a variant with its spread, or the roofline."""

import pandas as pd
from matplotlib.axes import Axes

from analysis.figures.labels import End
from analysis.palette import Style

ROOFLINE = "0.25"
DASHES = (0, (5, 2.5))
MOST_MARKERS = 20  # at every point of a line; on a longer one they would hide it
APART = 0.06  # and stand so far apart, in diagonals of the axes


def draw_line(
    axes: Axes, rows: pd.DataFrame, value: str, style: Style, text: str, bold: bool
) -> End:
    """Draw `value` of the rows of one variant over N, and its end for a label `text`.

    Published lines are dashed, with hollow markers. Measured ones have a band from the 0.2 to the
    0.8 quantile of the time. `bold` lines stand in front. gid of the line is `text`, of the band
    `text` and `band`.
    """
    published = (rows["origin"] == "published").all()
    look = {"linestyle": "--", "markerfacecolor": "white"} if published else {"linestyle": "-"}
    axes.plot(
        rows["N"],
        rows[value],
        color=style.colour,
        marker=style.marker,
        markersize=4 if bold else 2.8,
        markeredgewidth=0.6,
        markevery=None if len(rows) <= MOST_MARKERS else APART,
        linewidth=1.4 if bold else 0.8,
        zorder=3 if bold else 2,
        gid=text,
        **look,
    )
    low, high = (band(rows, value, quantile) for quantile in ("time_us_q20", "time_us_q80"))
    if (low.notna() & high.notna()).any():
        look = {"color": style.colour, "alpha": 0.25, "zorder": 1.5, "gid": f"{text} band"}
        if len(rows) == 1:  # a band over one size has no width
            ends = [*low, *high]
            axes.plot([*rows["N"]] * 2, ends, linewidth=6, solid_capstyle="butt", **look)
        else:
            axes.fill_between(rows["N"], low, high, linewidth=0, **look)
    return End(rows["N"].iloc[-1], rows[value].iloc[-1], style.colour, text, bold)


def band(rows: pd.DataFrame, value: str, quantile: str) -> pd.Series:
    """What `value` would be, had the call taken as long as that quantile of its times.

    A rate (`throughput_gbps`, `of_copy`) goes with the inverse of the time.
    """
    if value == "time_us":
        return rows[quantile]
    return rows[value] * rows["time_us"] / rows[quantile]


def draw_roofline(axes: Axes, limits: pd.Series, gid: str, text: str) -> End:
    """Draw a limit over N, and its end for a label `text`."""
    look = {"color": ROOFLINE, "linestyle": DASHES, "lw": 1.0, "zorder": 2.5}
    dash = {"marker": "_", "markersize": 15} if len(limits) == 1 else {}
    axes.plot(limits.index, limits, gid=gid, **look, **dash)
    return End(limits.index[-1], limits.iloc[-1], ROOFLINE, text)


def moved_kb(rows: pd.DataFrame) -> pd.Series:
    """Kilobytes that a call moves, by N, of rows with one M for each N.

    throughput · time is the number of bytes that the row counts, so no size of an element is
    assumed here.
    """
    return (rows["throughput_gbps"] * rows["time_us"]).groupby(rows["N"]).median()


def copy_rate(rows: pd.DataFrame) -> pd.Series:
    """GB/s of the measured copy by N: the bytes of a row over `copy_us`, median over variants."""
    rate = rows["throughput_gbps"] * rows["time_us"] / rows["copy_us"]
    return rate.groupby(rows["N"]).median().dropna()
