"""A figure in inches: heading above, fine print below, and the drawing in between.

It is as wide as a paper prints it, so that letters have their nominal size.
"""

import textwrap
from functools import cache

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from analysis import markdown as md
from analysis import schema
from analysis.figures.axes import FONT
from analysis.figures.controls import controls_note
from analysis.frame import distinct, legend, outcomes
from analysis.panels import Selection

# Inches: the widths of one column and of a page of two columns.
SINGLE, DOUBLE = 3.4, 7.0
# Points.
TITLE, SMALL, FINE = 8, 6.5, 5.5
_LINE = 1.3  # line spacing, relative to the font size
_EDGE = 0.05  # inches between text and the edge
_WIDER = 1.05  # letters of few pixels are up to 5 % wider than their outlines
VERSIONS = ("driver", "cuda", "torch", "triton", *schema.OPTIONAL)


@cache
def text_width(text: str, points: float, bold: bool = False) -> float:
    """Return the largest width in inches of a line of text in the figures' font."""
    font = FontProperties(family=FONT[0], weight="bold" if bold else "normal")
    return TextPath((0, 0), text, size=points, prop=font).get_extents().width / 72 * _WIDER


class Page:
    """A figure of `width`, with the heading, a body of `height`, and the fine print.

    A place in it is in inches from the upper left corner of the body.
    """

    def __init__(self, width: float, height: float, heading: str, fine_print: list[str]):
        title = _wrapped([heading], width, TITLE, bold=True)
        print_ = _wrapped(fine_print, width, FINE)
        self._above = _EDGE + len(title) * _height(TITLE) + 0.04
        below = _EDGE + len(print_) * _height(FINE) + 0.04
        self._size = (width, self._above + height + below)
        self.figure = Figure(figsize=self._size)
        x, y = _EDGE / width, _EDGE / self._size[1]
        style = {"x": x, "ha": "left", "linespacing": _LINE - 0.1}
        self.figure.suptitle(
            "\n".join(title), y=1 - y, va="top", fontsize=TITLE, fontweight="bold", **style
        )
        self.figure.text(y=y, s="\n".join(print_), va="bottom", fontsize=FINE, color="0.3", **style)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return a place as fractions of the figure."""
        return x / self._size[0], 1 - (self._above + y) / self._size[1]

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """Add axes with their upper left corner at (x, y)."""
        left, bottom = self.at(x, y + height)
        return self.figure.add_axes((left, bottom, width / self._size[0], height / self._size[1]))

    def nothing_timed(self, rows: pd.DataFrame) -> None:
        """Write the outcomes of `rows` in the middle of a figure without panels."""
        text = f"no timed rows: {md.counts(outcomes(rows))}" if len(rows) else "no rows"
        self.figure.text(0.5, 0.5, text, ha="center", va="center", fontsize=8, color="0.35")


def _height(points: float) -> float:
    return _LINE * points / 72


def _wrapped(lines: list[str], width: float, points: float, bold: bool = False) -> list[str]:
    """Return the lines, broken where they are wider than the page."""
    room = width - 2 * _EDGE
    wrapped = []
    for text in "\n".join(lines).split("\n"):
        letters = max(1, int(len(text) * room / max(text_width(text, points, bold), 0.01)))
        while text_width(text, points, bold) > room and letters > 20:
            parts = textwrap.wrap(text, letters)
            if max(text_width(part, points, bold) for part in parts) <= room:
                wrapped += parts[:-1]
                text = parts[-1]
                break
            letters -= 1
        wrapped.append(text)
    return wrapped


def heading(selection: Selection, what: str) -> str:
    """Return the title of a figure, which says so when nothing in it was measured here."""
    rows = selection.own if len(selection.own) else selection.published
    name = rows["gpu_name"].iloc[0].split(" (")[0]
    ops = "/".join(sorted(rows["op"].unique()))
    text = f"Row {ops} on {name}, {selection.dtype}, {selection.sweep}: {what}"
    return text if len(selection.own) else f"{text}\npublished, not measured here"


def fine_print(selection: Selection, shown: int = 1, total: int = 1, *notes: str) -> list[str]:
    """Return the origin of the numbers, the rows that are not drawn, and `notes`."""
    lines = []
    own = selection.own
    if len(own):
        lines.append(f"{origin(own)}, {selection.dtype}, M = {md.span(own['M'])}, {versions(own)}")
        outcome = outcomes(own)
        if left_out := md.counts(outcome[outcome != "ok"]):
            lines.append(f"rows without a time that counts: {left_out}")
    for source in selection.sources:
        lines.append(f"published, not measured here ({source.hardware}): {source.cite()}")
    if shown < total:
        lines.append(f"{shown} of {total} panels are shown, evenly chosen")
    return [*lines, *controls_note(own), *legend(own.loc[own["ranked"] == "true", "flags"]), *notes]


def origin(own: pd.DataFrame) -> str:
    """Return `recorded on NVIDIA H200`."""
    return f"{'/'.join(distinct(own['origin']))} on {'/'.join(distinct(own['gpu_name']))}"


def versions(own: pd.DataFrame) -> str:
    """Return the versions that the rows were measured with, and the days."""
    known = [(name, "/".join(distinct(own[name]))) for name in VERSIONS]
    days = distinct(own["started_at"].str.slice(0, 10))
    return ", ".join([*(f"{name} {version}" for name, version in known if version), *days])
