"""The theme of all figures, the axes of N and of time, and readable text on colours."""

import itertools
import math
from collections.abc import Iterable

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedLocator,
    LogLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)
from matplotlib.typing import ColorType
from seaborn.utils import relative_luminance

MAX_TICKS = 11
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# DejaVu Sans comes with matplotlib. A machine without it shows an SVG in the next font that it has;
# the letters of Verdana are equally wide.
FONT = ["DejaVu Sans", "Verdana", "Helvetica", "Arial"]

# Sizes are in points, for figures that are printed as wide as they are drawn. In SVG, text stays
# text and ids do not depend on the run. PDF embeds fonts as TrueType, as publishers require.
THEME = {
    **sns.axes_style("whitegrid"),
    **sns.plotting_context("paper"),
    "font.family": "sans-serif",
    "font.sans-serif": FONT,
    "font.size": 7,
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 6.5,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.5,
    "axes.labelpad": 2,
    "axes.titlepad": 3,
    "xtick.major.pad": 2,
    "ytick.major.pad": 2,
    "svg.fonttype": "none",
    "svg.hashsalt": "softmax-bench",
    "pdf.fonttype": 42,
    "axes.edgecolor": "0.6",
    "grid.color": "0.9",
}


def size_label(n: int, powers: bool) -> str:
    """Return `2¹⁰` when all sizes are powers of two, else the plain number."""
    return f"2{str(n.bit_length() - 1).translate(_SUPERSCRIPT)}" if powers else str(n)


def all_powers(sizes: Iterable[int]) -> bool:
    """Return whether every size is a power of two."""
    return all(n & (n - 1) == 0 for n in sizes)


def label_n(axes: Axes, sizes: list[int], most: int = MAX_TICKS) -> None:
    """Make x a log axis of N with up to `most` ticks at measured sizes (`most` ≥ 2).

    Of many sizes the powers of two get the ticks, if they span most of the axis.
    """
    axes.set_xscale("log", base=2)
    ticks = [n for n in sizes if all_powers([n])]
    wide = ticks and math.log(ticks[-1] / ticks[0]) > 0.75 * math.log(sizes[-1] / sizes[0])
    if len(sizes) <= most:
        ticks = sizes
    elif wide and len(ticks) > most:
        ticks = ticks[:: math.ceil((len(ticks) - 1) / (most - 1))]
    elif not wide:
        # The sizes nearest to places that are evenly spaced in log N.
        step = (sizes[-1] / sizes[0]) ** (1 / (most - 1))
        places = [sizes[0] * step**i for i in range(most)]
        ticks = sorted({min(sizes, key=lambda n: abs(n / place - 1)) for place in places})
    ticks = _without_overlaps(ticks, most)
    powers = all_powers(ticks)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    slanted = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    rotated = slanted if not powers and _crowded(axes, ticks) else {}
    axes.set_xticks(ticks, [size_label(n, powers) for n in ticks], **rotated)
    axes.set_xlabel("N (columns)")


def label_time(axes: Axes) -> None:
    """Make y a log axis of time in µs with plain numbers, at 1, 2 and 5 over few decades."""
    low, high = axes.get_ylim()
    few = high / low < 100
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _crowded(axes: Axes, ticks: list[int]) -> bool:
    """Return whether plain numbers would touch each other; a digit is 0.07 inches wide."""
    width = axes.get_window_extent().width / axes.figure.dpi
    widest = 0.07 * (len(str(ticks[-1])) + 1)
    nearest = min((b / a for a, b in itertools.pairwise(ticks)), default=math.inf)
    return math.log(nearest) / math.log(ticks[-1] / ticks[0] * 1.2) * width < widest


def _without_overlaps(ticks: list[int], most: int) -> list[int]:
    """Return the ticks whose label does not overlap the label before."""
    nearest = math.log(ticks[-1] / ticks[0]) / (1.5 * most)
    kept = ticks[:1]
    for n in ticks[1:]:
        if math.log(n / kept[-1]) >= nearest:
            kept.append(n)
    return kept


def text_colour(ground: ColorType) -> str:
    """Return black or white, whichever has the higher contrast on a colour; it is at least 4.5."""
    return max("black", "white", key=lambda letters: contrast(letters, ground))


def contrast(one: ColorType, other: ColorType) -> float:
    """Return WCAG's contrast ratio of two colours, 1 to 21."""
    dark, light = sorted((relative_luminance(one), relative_luminance(other)))
    return (light + 0.05) / (dark + 0.05)
