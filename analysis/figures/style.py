"""The style that all figures share: theme, title and footer, axes, and files."""

import io
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib import rcParams
from matplotlib.figure import Figure
from PIL import Image

from analysis import markdown as md
from analysis import row_files, schema
from analysis.frame import days, distinct, is_ranked, legend, mark, outcomes
from analysis.panels import CONTROL, CONTROL_NOTE, Selection

TEXT = 8  # points
# In SVG, text stays text, and ids do not depend on the run. A machine without DejaVu Sans shows an
# SVG in the next font that it has.
rcParams.update(sns.axes_style("whitegrid", {"axes.edgecolor": "0.6", "grid.color": "0.9"}))
rcParams.update({"font.size": TEXT, "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"]})
rcParams.update({"axes.titlesize": TEXT, "axes.titlelocation": "left"})
rcParams.update({"axes.linewidth": 0.6, "grid.linewidth": 0.5, "legend.frameon": False})
rcParams.update({"xtick.major.size": 0, "ytick.major.size": 0})
# A name of a table may have a $, which would begin a formula, and need not be one.
rcParams["text.parse_math"] = False
rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "softmax-bench"})
WIDTH, LINE, TITLE, FOOTER = 9, 0.14, 108, 140  # inches: figure, height of a line; letters of one
DPI, COLOURS = 150, 128  # of a PNG; enough for lines and letters
BOARD = "°"  # the mark of a row that only its board excludes
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
    columns = (selection.rows[name] for name in ("op", "dtype", "gpu_name"))
    facts = ("/".join(distinct(column.str.split(" (", regex=False).str[0])) for column in columns)
    published = "" if len(selection.own) else "; published, not measured"
    return f"{what}: {', '.join(facts)}, sweep {selection.rows['sweep'].iloc[0]}{published}"


def footer(selection: Selection, notes: Iterable[str] = ()) -> list[str]:
    """Return the boards and versions of rows, the sources, the rows without a time, and marks."""
    lines, own = [], selection.own
    for gpu, part in own.groupby("gpu_name"):
        boards = distinct(part["gpu_uuid"].str.split().explode().fillna("").str.slice(0, 12))
        known = [name for name in schema.VERSIONS if part[name].any()]
        versions = [f"{name} {'/'.join(distinct(part[name]))}" for name in known]
        origins = "/".join(distinct(part["origin"]))
        lines.append(", ".join([f"{origins} on {gpu}", *boards, *versions, days(part)]))
    for source in map(selection.sources.get, distinct(selection.rows["table"])):
        lines.append(f"published ({source.hardware}): {source.cite()}")
    timed, other = is_ranked(own, any_board=True), (own["unranked_by"] == schema.OTHER_BOARD).sum()
    if left_out := md.counts(outcomes(own[~timed])):
        lines.append(f"rows without a time that counts: {left_out}")
    if other:
        lines.append(
            f"{BOARD} {md.counted(other, 'row')} of another board than most of their matrix"
        )
    lines += [CONTROL_NOTE] if CONTROL in set(own["flags"]) else []
    flags = own.loc[timed, "flags"]
    if is_stale(selection):
        lines.append("stale: other code than the current one measured all of this")
        flags = flags.str.replace(schema.STALE, "")
    return [*lines, *legend(flags), *notes]


def is_stale(selection: Selection) -> bool:
    """Return whether all rows of a figure are stale: the footer says so, and no mark repeats it."""
    return bool((selection.own["stale"] == "true").all()) and len(selection.own) > 0


def signs(selection: Selection, flags: pd.Series) -> pd.Series:
    """Return the marks of the rows of a figure that have these flags."""
    return (flags.str.replace(schema.STALE, "") if is_stale(selection) else flags).map(mark)


def size_label(n: int) -> str:
    """Return `2¹⁰` for a power of two from 16 on, else the plain number."""
    power = n >= 16 and n & (n - 1) == 0
    return f"2{str(n.bit_length() - 1).translate(_SUPERSCRIPT)}" if power else f"{n}"


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `figure` to `stem`.svg and .png, the same bytes for equal figures; return the paths."""
    svg, drawn, png = io.BytesIO(), io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(drawn, format="png", dpi=DPI)
    # MAXCOVERAGE keeps rare colours of a scale, which a choice by frequency would merge
    method, image = Image.Quantize.MAXCOVERAGE, Image.open(drawn).convert("RGB")
    image = image.quantize(COLOURS, method, kmeans=1, dither=Image.Dither.NONE)
    image.save(png, format="png", dpi=(DPI, DPI), optimize=True)
    contents = {Path(f"{stem}.svg"): svg, Path(f"{stem}.png"): png}
    for path, content in contents.items():
        row_files.write(path, content.getvalue())
    return list(contents)
