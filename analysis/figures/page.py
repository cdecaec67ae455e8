"""A figure in inches: heading above, fine print below, and what is drawn in between.

Drawn at the width at which a paper prints it, so that the sizes of letters are what they say.
"""

import textwrap
from functools import cache

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from analysis.figures.axes import FONT

# Inches: the width of one column and of both on a page of two columns.
SINGLE, DOUBLE = 3.4, 7.0
# Points.
TITLE, SMALL, FINE = 8, 6.5, 5.5
_LINE = 1.3  # distance of lines of text, in sizes of their letters
_EDGE = 0.05  # inches, of text from the edge
_WIDER = 1.05  # letters of few pixels are up to that much wider than their outlines


@cache
def text_width(text: str, points: float, bold: bool = False) -> float:
    """The most inches that a line of text in the figures' font is wide."""
    font = FontProperties(family=FONT[0], weight="bold" if bold else "normal")
    return TextPath((0, 0), text, size=points, prop=font).get_extents().width / 72 * _WIDER


class Page:
    """A figure of `width` by as many inches as heading, body of `height`, and fine print need.

    Places in it are in inches from the upper left corner of the body.
    """

    def __init__(self, width: float, height: float, heading: str, fine_print: list[str]):
        title = _wrapped([heading], width, TITLE, bold=True)
        print_ = _wrapped(fine_print, width, FINE)
        self._above = _EDGE + len(title) * _height(TITLE) + 0.04
        below = _EDGE + len(print_) * _height(FINE) + 0.04
        self._size = (width, self._above + height + below)
        self.figure = Figure(figsize=self._size)
        x, y = _EDGE / width, _EDGE / self._size[1]
        look = {"x": x, "ha": "left", "linespacing": _LINE - 0.1}
        self.figure.suptitle(
            "\n".join(title), y=1 - y, va="top", fontsize=TITLE, fontweight="bold", **look
        )
        self.figure.text(y=y, s="\n".join(print_), va="bottom", fontsize=FINE, color="0.3", **look)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A place as fractions of the figure."""
        return x / self._size[0], 1 - (self._above + y) / self._size[1]

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """New axes with their upper left corner at (x, y)."""
        left, bottom = self.at(x, y + height)
        return self.figure.add_axes((left, bottom, width / self._size[0], height / self._size[1]))


def _height(points: float) -> float:
    return _LINE * points / 72


def _wrapped(lines: list[str], width: float, points: float, bold: bool = False) -> list[str]:
    """The lines, broken where they would be wider than the page."""
    room = width - 2 * _EDGE
    found = []
    for text in "\n".join(lines).split("\n"):
        letters = max(1, int(len(text) * room / max(text_width(text, points, bold), 0.01)))
        while text_width(text, points, bold) > room and letters > 20:
            parts = textwrap.wrap(text, letters)
            if max(text_width(part, points, bold) for part in parts) <= room:
                found += parts[:-1]
                text = parts[-1]
                break
            letters -= 1
        found.append(text)
    return found
