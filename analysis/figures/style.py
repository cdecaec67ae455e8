"""The style that all figures share: theme, title and footer, axes, and files."""

import io
import math
import textwrap
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import matplotlib
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from seaborn.utils import relative_luminance

from analysis import markdown as md
from analysis import rows, schema
from analysis.figures.controls import controls_note
from analysis.frame import distinct, is_ranked, legend, outcomes
from analysis.panels import Selection
from analysis.published import Source

TEXT = 8  # points
# In SVG, text stays text, and ids do not depend on the run. A machine without DejaVu Sans shows an
# SVG in the next font that it has.
THEME = {
    **sns.axes_style("whitegrid", {"axes.edgecolor": "0.6", "grid.color": "0.9"}),
    **{"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"]},
    **{"font.size": TEXT, "axes.titlesize": TEXT, "axes.titlelocation": "left"},
    **{"axes.linewidth": 0.6, "grid.linewidth": 0.5, "legend.frameon": False},
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 0),
    **{"svg.fonttype": "none", "svg.hashsalt": "softmax-bench"},
}
themed = matplotlib.rc_context(THEME)
WIDTH, LINE, TITLE, FOOTER = 9, 0.14, 108, 140  # inches: figure, height of a line; letters of one
DPI, COLOURS = 150, 128  # of a PNG; enough for lines and letters
BOARD = "°"  # the mark of a row that only its board excludes
VERSIONS = ("driver", "cuda", "torch", "triton", *schema.OPTIONAL)
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def page(height: float, title: str, footer: Iterable[str]) -> Figure:
    """Return a figure with a title above and a footer below a drawing of `height` inches."""
    lines, title = textwrap.wrap(" · ".join(footer), FOOTER), textwrap.wrap(title, TITLE)
    height += LINE * (len(lines) + len(title)) + 0.13
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.suptitle("\n".join(title), x=0.006, ha="left", fontsize=TEXT + 1, fontweight="bold")
    figure.supxlabel("\n".join(lines), x=0.006, ha="left", fontsize=TEXT, color="0.3")
    return figure


def heading(selection: Selection, what: str) -> str:
    """Return the title of a figure, which says so when nothing in it was measured here."""
    rows = selection.own if len(selection.own) else selection.published
    name, ops = rows["gpu_name"].iloc[0].split(" (")[0], "/".join(distinct(rows["op"]))
    published = "" if len(selection.own) else "; published, not measured"
    return f"{what}: {ops}, {selection.dtype}, {name}, sweep {selection.sweep}{published}"


def footer(own: pd.DataFrame, sources: Iterable[Source] = (), notes: Iterable[str] = ()) -> list:
    """Return the boards and versions of rows, the sources, the rows without a time, and marks."""
    lines = []
    for gpu, part in own.groupby("gpu_name"):
        boards = distinct(part["gpu_uuid"].str.split().explode().fillna("").str.slice(0, 12))
        known = {name: "/".join(distinct(part[name])) for name in VERSIONS}
        facts = [f"{name} {version}" for name, version in known.items() if version]
        days = distinct(part["started_at"].str.slice(0, 10))
        facts = [f"{'/'.join(distinct(part['origin']))} on {gpu}", *boards, *facts]
        lines.append(", ".join([*facts, " to ".join(dict.fromkeys(days[:1] + days[-1:]))]))
    lines += [f"published ({source.hardware}): {source.cite()}" for source in sources]
    timed, other = is_ranked(own, any_board=True), (own["unranked_by"] == schema.OTHER_BOARD).sum()
    if left_out := md.counts(outcomes(own[~timed])):
        lines.append(f"rows without a time that counts: {left_out}")
    if other:
        lines.append(f"{BOARD} {md.counted(other, 'row')} of another board than the ranked ones")
    return [*lines, *controls_note(own), *legend(own.loc[timed, "flags"]), *notes]


def size_label(n: int) -> str:
    """Return `2¹⁰` for a power of two from 16 on, else the plain number."""
    power = n >= 16 and n & (n - 1) == 0
    return f"2{str(n.bit_length() - 1).translate(_SUPERSCRIPT)}" if power else f"{n}"


def label_sizes(axes: Axes, sizes: Collection[int], most: int, name: str) -> None:
    """Make x a log axis of sizes, with ticks at them, or at some powers of two if they are many."""
    ticks, low, high = sorted(sizes), min(sizes), max(sizes)
    if len(ticks) > most:
        powers = [2**i for i in range(math.ceil(math.log2(low)), int(math.log2(high)) + 1)]
        ticks = powers[:: math.ceil(len(powers) / most) or 1] or [low, high]
    room = (high / low) ** (0.6 / most)  # plain numbers near each other would overlap
    ticks = [n for i, n in enumerate(ticks) if not i or n / ticks[i - 1] >= room]
    axes.set(xscale="log", xlim=(low / 2**0.25, high * 2**0.25), xlabel=name)
    axes.set_xticks(ticks, [size_label(int(n)) for n in ticks])
    axes.set_xticks([], minor=True)


def text_colour(ground: Sequence[float]) -> str:
    """Return black or white, whichever has the higher contrast on a colour; it is at least 4.5."""
    return "black" if relative_luminance(ground) > 0.179 else "white"


@themed
def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `figure` to `stem`.svg and .png, the same bytes for equal figures; return the paths."""
    svg, png, small = io.BytesIO(), io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=DPI)
    # MAXCOVERAGE keeps rare colours of a scale, which a choice by frequency would merge
    method, image = Image.Quantize.MAXCOVERAGE, Image.open(png).convert("RGB")
    image = image.quantize(COLOURS, method, kmeans=1, dither=Image.Dither.NONE)
    image.save(small, format="png", dpi=(DPI, DPI), optimize=True)
    contents = {Path(f"{stem}.svg"): svg, Path(f"{stem}.png"): small}
    for path, content in contents.items():
        rows.write(path, content.getvalue())
    return list(contents)
