"""A strip above a panel that says who is the fastest at every N."""

import math
from itertools import groupby, pairwise

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from analysis.figures.ink import ink
from analysis.figures.page import FINE, text_width
from analysis.figures.winners import Winner
from analysis.palette import Style

GAP, HEIGHT = 0.03, 0.11  # inches, between the axes and the strip, and of the strip
HALF = 2**0.5  # how far a box reaches beyond the first and the last size
PALE = 0.6  # share of white in the colour of a winner that is not sure


def draw_strip(
    axes: Axes, fastest: dict[int, Winner], styles: dict[str, Style], other: str
) -> None:
    """Draw a box for each run of sizes with one winner, named where its name fits.

    `fastest` maps N to the winner; where that is not sure the box is pale. A variant that is not in
    `styles` gets the colour `other` and no name. A box too narrow for its name has the variant's
    marker. Call after the limits and the position of the axes are final. gid of a box:
    `fastest {variant}`.
    """
    sizes = sorted(fastest)
    borders = [math.sqrt(a * b) for a, b in pairwise(sizes)]
    low, high = axes.get_xlim()
    edges = [max(sizes[0] / HALF, low), *borders, min(sizes[-1] * HALF, high)]
    inches = axes.get_window_extent().height / axes.figure.dpi
    bottom, top = 1 + GAP / inches, 1 + (GAP + HEIGHT) / inches
    for won, run in groupby(range(len(sizes)), key=lambda i: fastest[sizes[i]]):
        places = list(run)
        left, right = edges[places[0]], edges[places[-1] + 1]
        style = styles.get(won.variant)
        colour = to_rgb(style.colour if style else other)
        colour = colour if won.sure else tuple(PALE + (1 - PALE) * part for part in colour)
        look = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.8, "clip_on": False}
        axes.axvspan(left, right, bottom, top, **look, gid=f"fastest {won.variant}")
        if style:
            middle = (math.sqrt(left * right), (bottom + top) / 2)
            _name(axes, middle, _inches(axes, left, right), won.variant, style.marker, ink(colour))


def _name(
    axes: Axes, at: tuple[float, float], room: float, variant: str, marker: str, letters: str
) -> None:
    where = {"transform": axes.get_xaxis_transform(), "clip_on": False, "color": letters}
    if text_width(variant, FINE) + 0.04 < room:
        axes.text(*at, variant, ha="center", va="center_baseline", fontsize=FINE, **where)
    else:
        look = {"marker": marker, "markersize": 3, "markeredgewidth": 0, "linestyle": "none"}
        axes.plot(*at, **look, **where, gid=f"marker {variant}")


def _inches(axes: Axes, left: float, right: float) -> float:
    ends = [axes.transData.transform((x, 1))[0] for x in (left, right)]
    return (ends[1] - ends[0]) / axes.figure.dpi
