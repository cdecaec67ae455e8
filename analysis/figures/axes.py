"""What every figure shares: the theme, the axis of N, the footer."""

import math
import textwrap
from collections.abc import Iterable

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    LogLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)

from analysis import schema
from analysis.figures.select import Selection
from analysis.frame import distinct, outcomes

MOST_TICKS = 11
VERSIONS = ("driver", "cuda", "torch", "triton", *schema.OPTIONAL)
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

# svg: text stays text, and ids do not depend on the run.
THEME = {
    **sns.axes_style("whitegrid"),
    **sns.plotting_context("paper", font_scale=1.05),
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "svg.hashsalt": "softmax-bench",
    "axes.edgecolor": "0.6",
    "grid.color": "0.9",
}


def size_label(n: int, powers: bool) -> str:
    """`2¹⁰` when all sizes are powers of two, else the plain number."""
    return f"2{str(n.bit_length() - 1).translate(_SUPERSCRIPT)}" if powers else str(n)


def all_powers(sizes: Iterable[int]) -> bool:
    """Whether every size is a power of two."""
    return all(n & (n - 1) == 0 for n in sizes)


def label_n(axes: Axes, sizes: list[int]) -> None:
    """A log axis of N with ticks at sizes that were measured, at most MOST_TICKS of them.

    Among many sizes the powers of two, where they are about as wide as all.
    """
    axes.set_xscale("log", base=2)
    ticks = [n for n in sizes if all_powers([n])]
    wide = ticks and math.log(ticks[-1] / ticks[0]) > 0.75 * math.log(sizes[-1] / sizes[0])
    if len(sizes) <= MOST_TICKS:
        ticks = sizes
    elif not wide or len(ticks) > MOST_TICKS:
        # Evenly in log N: for each place the nearest size.
        step = (sizes[-1] / sizes[0]) ** (1 / (MOST_TICKS - 1))
        places = [sizes[0] * step**i for i in range(MOST_TICKS)]
        ticks = sorted({min(sizes, key=lambda n: abs(n / place - 1)) for place in places})
    ticks = _apart(ticks)
    powers = all_powers(sizes)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    rotated = {} if powers else {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(ticks, [size_label(n, powers) for n in ticks], **rotated)
    axes.set_xlabel("N (columns)")


def label_time(axes: Axes) -> None:
    """A log axis of time in µs in plain numbers, at 1, 2 and 5 where it spans few decades."""
    low, high = axes.get_ylim()
    few = high / low < 100
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _apart(ticks: list[int]) -> list[int]:
    """The ticks less those so near the one before that their labels would overlap."""
    nearest = math.log(ticks[-1] / ticks[0]) / (1.5 * MOST_TICKS)
    kept = ticks[:1]
    for n in ticks[1:]:
        if math.log(n / kept[-1]) >= nearest:
            kept.append(n)
    return kept


def footer(figure: Figure, selection: Selection, shown: int, total: int) -> None:
    """Where the numbers come from, what is not drawn, in small print at the bottom left."""
    lines = []
    own = selection.own
    if len(own):
        origin = "/".join(sorted(own["origin"].unique()))
        known = [(n, _all(own[n])) for n in VERSIONS]
        versions = ", ".join(f"{name} {version}" for name, version in known if version)
        day = own["started_at"].str.slice(0, 10)
        lines.append(
            f"{origin} on {_all(own['gpu_name'])}, {selection.dtype}, M = {_range(own['M'])}, "
            f"{versions}, {_all(day)}"
        )
        found = outcomes(own)
        if left_out := _counts(found[found != "ok"]):
            lines.append(f"rows without a time that counts: {left_out}")
    for source in selection.sources:
        lines.append(f"published, not measured here ({source.hardware}): {source.cite()}")
    if shown < total:
        lines.append(f"{shown} of {total} panels are shown, evenly chosen")
    # 7 pt letters of this font are about 1/17 inch wide.
    width = int(figure.get_figwidth() * 17)
    lines = [part for line in lines for part in textwrap.wrap(line, width)]
    figure.text(0.01, 0.01, "\n".join(lines), ha="left", va="bottom", fontsize=7, color="0.35")


def heading(figure: Figure, selection: Selection, what: str) -> None:
    """Title of the figure; says when nothing in it was measured here."""
    rows = selection.own if len(selection.own) else selection.published
    name = rows["gpu_name"].iloc[0].split(" (")[0]
    ops = "/".join(sorted(rows["op"].unique()))
    text = f"Row {ops} on {name}, {selection.dtype}, {selection.sweep}: {what}"
    if selection.own.empty:
        text += "\npublished, not measured here"
    figure.suptitle(text, x=0.01, y=0.99, ha="left", va="top", fontsize=11, fontweight="bold")


def nothing_timed(figure: Figure, selection: Selection) -> None:
    """Say in the middle of an empty figure why it is empty."""
    text = f"no timed rows: {_counts(outcomes(selection.own))}"
    figure.text(0.5, 0.5, text, ha="center", va="center", fontsize=12, color="0.35")


def _counts(values: pd.Series) -> str:
    counts = values.value_counts().sort_index()
    return ", ".join(f"{count} {value}" for value, count in counts.items())


def _all(values: pd.Series) -> str:
    return "/".join(distinct(values))


def _range(values: pd.Series) -> str:
    low, high = values.min(), values.max()
    return str(low) if low == high else f"{low} to {high}"
