"""Time and throughput over N."""

import math

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import palette
from analysis.figures import axes as shared
from analysis.figures.labels import End, label_ends
from analysis.figures.select import Panel, Selection, panels

ROOFLINE = "0.25"
# Inches: of one panel, of the column of labels right of it, and of the margins.
WIDTH, HEIGHT, LABELS, LEFT, ABOVE, BELOW = 5.6, 4.4, 2.3, 0.9, 0.3, 0.7
TOP, BOTTOM = 0.45, 0.5  # heading and footer of the whole figure


def draw_time(selection: Selection) -> Figure:
    """Median time in µs over N, log-log, with a band from the 0.2 to the 0.8 quantile."""
    return _draw(selection, "time over N", "time (µs)", "time_us")


def draw_throughput(selection: Selection) -> Figure:
    """Throughput in GB/s over N with the roofline: the copy measured in the same processes.

    Published tables have no copy; where the figure is of them alone, the roofline is the vendor's
    memory peak. One line for each variant that is timed, gid = variant (or variant + published).
    """
    return _draw(selection, "throughput over N", "throughput (GB/s)", "throughput_gbps")


def copy_rate(rows: pd.DataFrame) -> pd.Series:
    """GB/s of the measured copy by N: the bytes of a row over `copy_us`, median over variants.

    throughput · time is the number of bytes that the row counts, so no size of an element is
    assumed here.
    """
    rate = rows["throughput_gbps"] * rows["time_us"] / rows["copy_us"]
    return rate.groupby(rows["N"]).median().dropna()


def _draw(selection: Selection, what: str, label: str, value: str) -> Figure:
    with matplotlib.rc_context(shared.THEME):
        found, total = panels(selection, only_timed=True)
        across = min(3, max(1, len(found)))
        down = max(1, math.ceil(len(found) / across))
        cell = (LEFT + WIDTH + LABELS, ABOVE + HEIGHT + BELOW)
        size = (across * cell[0], TOP + down * cell[1] + BOTTOM)
        figure = Figure(figsize=size)
        for i, panel in enumerate(found):
            x = (i % across) * cell[0] + LEFT
            y = size[1] - TOP - (i // across) * cell[1] - ABOVE - HEIGHT
            place = (x / size[0], y / size[1], WIDTH / size[0], HEIGHT / size[1])
            axes = figure.add_axes(place)
            axes.set_title(panel.title, loc="left", fontsize=9)
            axes.set_ylabel(label)
            _panel(axes, panel, value, selection)
        if not found:
            shared.nothing_timed(figure, selection)
        shared.heading(figure, selection, what)
        shared.footer(figure, selection, len(found), total)
        return figure


def _panel(axes: Axes, panel: Panel, value: str, selection: Selection) -> None:
    sizes = sorted({*panel.own["N"].tolist(), *panel.published["N"].tolist()})
    shared.label_n(axes, sizes)
    axes.set_yscale("log" if value == "time_us" else "linear")
    ends = [_line(axes, name, part, value, False) for name, part in _variants(panel.own)]
    overlay = len(panel.own) > 0
    for name, part in _variants(panel.published):
        ends.append(_line(axes, name, part, value, overlay))
    if value == "throughput_gbps":
        ends += _roofline(axes, panel, selection, sizes)
        axes.autoscale_view()
        axes.set_ylim(bottom=0)  # after all lines: a fixed limit ends the automatic scaling
    axes.autoscale_view()
    if value == "time_us":
        shared.label_time(axes)
    label_ends(axes, ends)


def _variants(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    groups = rows.sort_values("N").groupby("variant")
    return sorted(groups, key=lambda group: palette.order(group[0]))


def _line(axes: Axes, variant: str, rows: pd.DataFrame, value: str, overlay: bool) -> End:
    style = palette.style(variant)
    published = (rows["origin"] == "published").all()
    look = {"linestyle": "--", "markerfacecolor": "white"} if published else {"linestyle": "-"}
    text = f"{variant} (published)" if overlay else variant
    axes.plot(
        rows["N"],
        rows[value],
        color=style.colour,
        marker=style.marker,
        markersize=4.5 if len(rows) <= 30 else 2.5,
        linewidth=1.4,
        gid=text,
        **look,
    )
    if value == "time_us" and rows["time_us_q20"].notna().any():
        band = (rows["N"], rows["time_us_q20"], rows["time_us_q80"])
        axes.fill_between(*band, color=style.colour, alpha=0.2, linewidth=0)
    return End(rows["N"].iloc[-1], rows[value].iloc[-1], style.colour, text)


def _roofline(axes: Axes, panel: Panel, selection: Selection, sizes: list[int]) -> list[End]:
    copy = copy_rate(panel.own)
    if len(copy):
        axes.plot(copy.index, copy, color=ROOFLINE, linestyle=(0, (6, 3)), lw=1.2, gid="copy")
        return [End(copy.index[-1], copy.iloc[-1], ROOFLINE, "copy (roofline)")]
    peaks = [s for s in selection.sources if s.memory_peak_gbps and len(panel.published)]
    for source in peaks[:1]:
        peak = source.memory_peak_gbps
        ends = (sizes[0], sizes[-1])
        axes.plot(ends, (peak, peak), color=ROOFLINE, linestyle=(0, (6, 3)), lw=1.2, gid="peak")
        return [End(sizes[-1], peak, ROOFLINE, f"{peak:g} GB/s (data sheet)")]
    return []
