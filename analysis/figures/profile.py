"""The performance profile: at how many matrices a variant is near the fastest."""

import dataclasses

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from analysis import palette, ranking
from analysis.figures import axes as shared
from analysis.figures import lines
from analysis.figures.controls import CONTROL
from analysis.figures.layout import Page, fine_print, heading, text_width
from analysis.panels import Selection

TICKS = (0, 1, 4, 10, 30, 100, 300)  # per cent; linear up to 1, then logarithmic
LEFT, ABOVE, WIDTH, HEIGHT, BELOW = 0.55, 0.08, 3.6, 2.6, 0.4  # inches
MARKERS = 0.1  # distance of markers, in diagonals of the axes
HOW = (
    "matrices where two variants rank; where a variant cannot run or is wrong, that counts against "
    "it; a time that a flag or its board excludes does not (Dolan and Moré, Mathematical "
    "Programming 91, 2002)"
)


def draw_profile(selection: Selection) -> Figure:
    """Draw the share of matrices up to x % behind the fastest, a line (gid: its name) each."""
    with matplotlib.rc_context(shared.THEME):
        own = selection.own[selection.own["flags"] != CONTROL]
        selection = dataclasses.replace(selection, own=own)
        table = ranking.profile(own)
        names = sorted(table.columns, key=palette.order)
        beside = lines.GAP + 0.08
        beside += max((text_width(name, lines.LABEL, bold=True) for name in names), default=0)
        title = f"performance profile of {len(table)} matrices"
        page = Page(
            LEFT + WIDTH + beside,
            ABOVE + HEIGHT + BELOW,
            heading(selection, title),
            fine_print(selection, 1, 1, HOW),
        )
        if table.empty:
            page.nothing_timed(own)
            return page.figure
        axes = page.axes(LEFT, ABOVE, WIDTH, HEIGHT)
        axes.set_xscale("symlog", linthresh=1)
        axes.set(
            xlim=(0, TICKS[-1]), ylim=(0, 1.02), xlabel="slower than the fastest by at most (%)"
        )
        axes.set_ylabel("share of matrices")
        axes.xaxis.set_major_locator(FixedLocator(TICKS))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        ends = []
        for name in names:
            steps = 100 * (table[name].dropna() - 1)
            x = np.unique([0, *steps[steps < TICKS[-1]], TICKS[-1]])
            y = [(steps <= percent).mean() for percent in x]
            style = selection.styles[name]
            axes.plot(
                *(x, y),
                **{"drawstyle": "steps-post", "color": style.colour, "marker": style.marker},
                **{"markersize": 3, "markevery": MARKERS, "lw": 1.0, "gid": name},
            )
            ends.append(lines.End(x[-1], y[-1], style.colour, name))
        lines.label_ends(axes, ends)
        return page.figure
