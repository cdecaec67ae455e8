"""Names at the ends of lines, in place of a legend."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.figures import style

GAP = 1.25 * style.TEXT / 72  # inches between the middles of two names


class End(NamedTuple):
    """The name of a line, the height of its end in units of the axis, and its look."""

    name: str
    height: float
    colour: str
    marker: str = ""
    dashes: str = "-"


def width(names: list[str]) -> float:
    """Return the inches that the longest of these names takes, with its sample."""
    return 0.34 + 1.05 * style.TEXT * style.LETTER * max(map(len, names), default=0)


def write(axes: Axes, ends: list[End]) -> None:
    """Write each name right of the axes, behind a sample, as near to its end as others allow.

    The order of the names is that of the ends, so no name needs a leader line.
    """
    box = axes.get_window_extent()
    inches = box.width / axes.figure.dpi, box.height / axes.figure.dpi
    to_axes = axes.transData - axes.transAxes
    x = axes.get_xlim()[1]
    ends = sorted(ends, key=lambda end: (end.height, end.name))
    places = [to_axes.transform((x, end.height))[1] * inches[1] for end in ends]
    for end, place in zip(ends, spread(places, GAP, inches[1]), strict=True):
        look = {"color": end.colour, "transform": axes.transAxes, "clip_on": False}
        y, inch = place / inches[1], 1 / inches[0]
        sample = 1 + inch * np.array([0.06, 0.16, 0.26])
        line = Line2D(sample, [y] * 3, marker=end.marker, markevery=[1], ls=end.dashes, **look)
        line.set(markersize=5, markeredgecolor="white", markeredgewidth=0.6, linewidth=1.3)
        axes.add_artist(line)
        axes.text(1 + 0.31 * inch, y, end.name, va="center_baseline", gid=end.name, **look)


def spread(places: list[float], gap: float, length: float) -> list[float]:
    """Return sorted places moved as little as possible, so that each is `gap` above the one before.

    The first and the last keep half a gap from the ends of `length`, if all fit. Neighbours that
    would overlap form a block around the mean of their places (pool adjacent violators).
    """
    blocks: list[list[float]] = []
    for index, place in enumerate(places):
        blocks.append([place - index * gap])
        while len(blocks) > 1 and np.mean(blocks[-2]) >= np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    moved = np.array([np.mean(block) for block in blocks for _ in block])
    free = max(0.0, length - gap * len(places))
    return list(np.clip(moved, gap / 2, gap / 2 + free) + gap * np.arange(len(places)))
