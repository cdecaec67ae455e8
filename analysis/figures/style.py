"""What all figures share: the theme, the page with its title and small print, and the files."""

import io
import textwrap
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from analysis import markdown as md
from analysis import row_files, schema
from analysis.figures.panels import CONTROL, Selection, describe_m
from analysis.frame import days, distinct, in_words, is_ranked, mark, outcomes

mpl.use("Agg")
TEXT, TITLE, SMALL = 8, 10.5, 6.5  # points
INK, GREY, PALE = "0.15", "0.4", "0.78"
# Text of an SVG stays text, and ids do not depend on the run. A machine without DejaVu Sans shows
# the next font that it has. A name of a table may have a $, which would begin a formula.
sns.set_theme(
    style="whitegrid",
    font="DejaVu Sans",
    rc={
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
        "font.size": TEXT,
        "axes.titlesize": TEXT,
        "axes.labelsize": TEXT,
        "xtick.labelsize": TEXT - 1,
        "ytick.labelsize": TEXT - 1,
        "axes.titlelocation": "left",
        "axes.titlepad": 5,
        "axes.edgecolor": "0.6",
        "axes.linewidth": 0.6,
        "axes.labelcolor": GREY,
        "grid.color": "0.92",
        "grid.linewidth": 0.6,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "xtick.major.pad": 2,
        "ytick.major.pad": 2,
        "hatch.linewidth": 0.5,
        "text.parse_math": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "softmax-bench",
    },
)
WIDTH, DPI = 9, 150  # inches, and dots per inch of a PNG
LETTER, LINE = 0.0076, 1.35 / 72  # inches per point: width of a letter, height of a line
TIMES = "\N{MULTIPLICATION SIGN}"
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def finish(
    figure: Figure,
    height: float,
    title: str,
    about: str = "",
    facts: str = "",
    margins: tuple[float, float] = (0.65, 0.1),
    gaps: tuple[float, float] = (0.3, 0.65),
    above: float = 0.28,
    below: float = 0.42,
) -> Figure:
    """Give a figure its finding as title, a line about what it shows, and its small print.

    The panels share `height`. All lengths are inches: the margins left and right of the panels, the
    gaps between columns and between rows of panels, and what titles of panels need above them and
    tick labels below. Layout by hand takes a tenth of the time that matplotlib's engines take.
    """
    heading = _balanced(title, int((WIDTH - 0.1) / (1.13 * TITLE * LETTER)))
    about = textwrap.fill(about, int(WIDTH / (TEXT * LETTER)))
    facts = textwrap.fill(facts, int(WIDTH / (SMALL * LETTER)))
    heading_height, about_height, facts_height = (
        LINE * points * (text.count("\n") + 1) * bool(text)
        for text, points in ((heading, TITLE), (about, TEXT), (facts, SMALL))
    )
    top = 0.08 + heading_height + about_height + above
    bottom = below + facts_height + 0.06
    total = height + top + bottom
    figure.set_size_inches(WIDTH, total)
    figure.set_layout_engine(None)  # seaborn leaves one that would draw each file twice
    left = {"x": 0.06 / WIDTH, "ha": "left", "va": "top"}
    figure.suptitle(
        heading, y=1 - 0.06 / total, fontsize=TITLE, fontweight="bold", color=INK, **left
    )
    figure.text(y=1 - (0.08 + heading_height) / total, s=about, color=GREY, **left)
    figure.text(y=(facts_height + 0.04) / total, s=facts, fontsize=SMALL, color=GREY, **left)
    if figure.axes:
        grid = figure.axes[0].get_gridspec()
        columns, rows = grid.ncols, grid.nrows
        panel = (WIDTH - sum(margins) - gaps[0] * (columns - 1)) / columns
        figure.subplots_adjust(
            left=margins[0] / WIDTH,
            right=1 - margins[1] / WIDTH,
            bottom=bottom / total,
            top=1 - top / total,
            wspace=gaps[0] / panel,
            hspace=gaps[1] / ((height - gaps[1] * (rows - 1)) / rows),
        )
    return figure


def _balanced(text: str, width: int) -> str:
    """Return a text in as few lines of `width` letters as possible, and these as even as can be."""
    count = len(textwrap.wrap(text, width))
    even = (n for n in range(width // 2, width) if len(textwrap.wrap(text, n)) == count)
    return textwrap.fill(text, next(even, width) if count > 1 else width)


def nothing(selection: Selection, subject: str, why: str = "no timed rows") -> Figure:
    """Return a figure that says why a selection has nothing to draw."""
    return finish(plt.figure(), 0, f"{subject}: {why}", facts=facts(selection), below=0)


def facts(selection: Selection) -> str:
    """Return one line: GPUs, dtypes, M, versions, days, code, rows without a time, sources."""
    rows, own = selection.rows, selection.own
    parts = [", ".join(map(short_name, distinct(own["gpu_name"])))] if len(own) else []
    parts += ["/".join(distinct(rows[name])) for name in ("op", "dtype")]
    parts += [describe_m(rows)] if len(rows) else []
    for name in ("torch", "driver"):
        if versions := distinct(own[name].str.replace(r"\+.*", "", regex=True)):
            parts.append(f"{name} {', '.join(versions)}")
    if len(own):
        parts += [days(own), older(own) or "current code"]
    if left_out := md.counts(outcomes(own[~is_ranked(own, any_board=True)])):
        parts.append(f"left out: {in_words(left_out)}")
    flags = own.loc[is_ranked(own, any_board=True), "flags"].str.split().explode()
    if doubtful := md.counts(
        flag for flag in flags.dropna() if flag != schema.STALE and mark(flag)
    ):
        parts.append(in_words(doubtful))
    for source in map(selection.sources.get, distinct(rows["table"])):
        parts.append(f"{short_name(source.hardware)} published by {source.author}, {source.date}")
    return " · ".join(filter(None, parts))


def older(own: pd.DataFrame) -> str:
    """Say whether measured rows are of an older version of the code; "" if none is."""
    old = (own.loc[own["flags"] != CONTROL, "stale"] == "true").mean()
    return "older code" if old == 1 else "partly older code" if old else ""


def gpu_titles(rows: pd.DataFrame) -> pd.Series:
    """Return the title of each GPU; GPUs of one name have their short names, too."""
    names = rows.groupby("gpu")["gpu_name"].first().map(short_name)
    is_published = (rows["origin"] == "published").groupby(rows["gpu"]).all()
    titles = names + is_published.map({True: " (published)", False: ""})
    return titles.mask(titles.duplicated(keep=False), titles + ", " + titles.index)


def short_name(gpu_name: str) -> str:
    """Return the name of a GPU without its vendor: `H100 80GB HBM3`."""
    return gpu_name.split(" (")[0].removeprefix("NVIDIA ").removeprefix("GeForce ")


def size_label(n: int) -> str:
    """Return `2¹⁰` for a power of two from 16 on, else the plain number."""
    power = n >= 16 and n & (n - 1) == 0
    return f"2{str(n.bit_length() - 1).translate(_SUPERSCRIPT)}" if power else f"{n}"


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `figure` to `stem`.svg and .png, the same bytes for equal figures; return the paths.

    The files have the finding as their title, too.
    """
    contents = {Path(f"{stem}.svg"): io.BytesIO(), Path(f"{stem}.png"): io.BytesIO()}
    svg, png = contents.values()
    title = figure.get_suptitle().replace("\n", " ")
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    figure.savefig(png, format="png", dpi=DPI, metadata={"Title": title})
    plt.close(figure)
    for path, content in contents.items():
        row_files.write(path, content.getvalue())
    return list(contents)
