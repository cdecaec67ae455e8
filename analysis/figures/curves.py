"""Time and throughput over N."""

import math
from dataclasses import dataclass

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import palette
from analysis.figures import axes as shared
from analysis.figures import lines
from analysis.figures.layout import DOUBLE, SINGLE, Page, fine_print, heading, text_width
from analysis.panels import Panel, Selection, copy_rate, moved_kb, panels
from analysis.ranking import highlighted

# Inches around a panel, for the numbers of its axis, its title, and N.
LEFT, ABOVE, BELOW = 0.62, 0.2, 0.5
# Inches: the smallest width of a panel, and the space for a tick of N.
NARROWEST, TICK = 1.4, 0.27
HEIGHT = {SINGLE: 1.9, DOUBLE: 2.9}
# The largest numbers of labels and of sizes that fit into one column of a page.
MAX_LABELS, MAX_SIZES = 7, 16
HIGHLIGHTED = 5  # variants besides torch


@dataclass(frozen=True)
class _Line:
    """One line of a panel: of a variant, or of a roofline (`style` None)."""

    text: str
    gid: str
    rows: pd.DataFrame | pd.Series
    style: palette.Style | None


def draw_time(selection: Selection) -> Figure:
    """Draw the median time in µs over N, log-log, with a band from the 0.2 to the 0.8 quantile.

    Each timed variant has a line, whose gid is its name, with ` (published)` where it stands beside
    measured rows. The roofline is the copy in the same processes (gid `copy`) or, for a published
    table, the time at the vendor's memory peak (gid `peak`).
    """
    return _draw(selection, "time over N", "time (µs)", "time_us")


def draw_throughput(selection: Selection) -> Figure:
    """Draw the throughput in GB/s over N, with the lines of `draw_time`."""
    return _draw(selection, "throughput over N", "throughput (GB/s)", "throughput_gbps")


def _draw(selection: Selection, what: str, label: str, value: str) -> Figure:
    with matplotlib.rc_context(shared.THEME):
        shown, total = panels(selection, only_timed=True)
        drawn = [_lines(panel, value, selection) for panel in shown]
        page_width = _columns(shown, drawn)
        across = min(2, max(1, len(shown)))
        names = [text_width(line.text, lines.LABEL, bold=True) for part in drawn for line in part]
        beside = lines.GAP + max(names, default=0) + 0.08
        width = max(page_width / across - LEFT - beside, NARROWEST)
        most = max(map(len, drawn), default=0)
        height = max(HEIGHT[page_width] / (1.3 if across > 1 else 1), most * lines.LABEL_HEIGHT)
        cell = (LEFT + width + beside, ABOVE + height + BELOW)
        page = Page(
            across * cell[0],
            max(1, math.ceil(len(shown) / across)) * cell[1],
            heading(selection, what),
            fine_print(selection, len(shown), total, *_notes(drawn)),
        )
        for i, (panel, part) in enumerate(zip(shown, drawn, strict=True)):
            place = (i % across * cell[0] + LEFT, i // across * cell[1] + ABOVE)
            axes = page.axes(*place, width, height)
            axes.set_title(_title(panel, width + beside), loc="left")
            axes.set_ylabel(label)
            shared.label_n(axes, _sizes(panel), min(shared.MAX_TICKS, int(width / TICK)))
            _panel(axes, part, value, highlighted([panel.own], HIGHLIGHTED))
        if not shown:
            page.nothing_timed(selection.own)
        return page.figure


def _title(panel: Panel, width: float) -> str:
    """Return the panel's title, without the operation where it is too wide; the heading has it."""
    if text_width(panel.title, shared.THEME["axes.titlesize"]) <= width:
        return panel.title
    return panel.title.partition(", ")[2]


def _columns(shown: list[Panel], drawn: list[list[_Line]]) -> float:
    """Return the width of the page: one column for a single small panel, else two."""
    small = len(shown) <= 1 and all(len(part) <= MAX_LABELS for part in drawn)
    return SINGLE if small and all(len(_sizes(p)) <= MAX_SIZES for p in shown) else DOUBLE


def _panel(axes: Axes, drawn: list[_Line], value: str, front: list[str]) -> None:
    axes.set_yscale("log" if value == "time_us" else "linear")
    ends = []
    for line in drawn:
        if line.style is None:
            ends.append(lines.draw_roofline(axes, line.rows, line.gid, line.text))
        else:
            bold = line.gid in front
            ends.append(lines.draw_line(axes, line.rows, value, line.style, line.text, bold))
    axes.autoscale_view()
    if value == "time_us":
        shared.label_time(axes)
    else:
        axes.set_ylim(bottom=0)  # after all lines: a fixed limit ends the automatic scaling
    lines.label_ends(axes, ends)


def _lines(panel: Panel, value: str, selection: Selection) -> list[_Line]:
    """Return the lines of a panel, with the texts of the labels."""
    drawn = []
    for rows, end in ((panel.own, ""), (panel.published, " (published)" if len(panel.own) else "")):
        groups = rows.sort_values("N").groupby("variant")
        for name, part in sorted(groups, key=lambda group: palette.order(group[0])):
            drawn.append(_Line(f"{name}{end}", f"{name}{end}", part, selection.styles[name]))
    return drawn + _roofline(panel, value, selection)


def _roofline(panel: Panel, value: str, selection: Selection) -> list[_Line]:
    """Return the line of the measured copy, or else that of the data sheet's peak, if known."""
    rates, gid, text = copy_rate(panel.own), "copy", "copy (roofline)"
    rows = panel.own
    if rates.empty:
        peaks = [s.memory_peak_gbps for s in selection.sources if s.memory_peak_gbps]
        if not peaks or panel.published.empty:
            return []
        rows, gid, text = panel.published, "peak", f"{peaks[0]:g} GB/s (data sheet)"
        rates = pd.Series(float(peaks[0]), index=_sizes(panel))
    # A GB/s is a kB/µs.
    times = moved_kb(rows).reindex(rates.index) / rates
    return [_Line(text, gid, times if value == "time_us" else rates, None)]


def _notes(drawn: list[list[_Line]]) -> list[str]:
    """Return the line that explains bands and bold lines, if there are any."""
    styled = [line.rows for part in drawn for line in part if line.style]
    if any(rows["time_us_q20"].notna().any() for rows in styled):
        return [
            "bands: 0.2 to 0.8 quantile of the times; bold: torch, "
            f"and at most {HIGHLIGHTED} that are in the best set at more sizes than others"
        ]
    return []


def _sizes(panel: Panel) -> list[int]:
    return sorted({*panel.own["N"].tolist(), *panel.published["N"].tolist()})
