"""The kinds of figures, and their files: the same bytes for the same rows."""

import io
from collections.abc import Iterable
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from analysis import ranking, rows
from analysis.figures import curves, heatmap, overview, profile, published
from analysis.figures.axes import THEME
from analysis.figures.controls import with_controls
from analysis.panels import beside_published, select
from analysis.published import Published

# kind -> (which rows it shows, how it is drawn); `profile` needs many matrices, and `published` a
# short published table
KINDS = {
    "time": (select, curves.draw_time),
    "throughput": (select, curves.draw_throughput),
    "speedup": (select, heatmap.draw_speedup),
    "profile": (select, profile.draw_profile),
    "published": (beside_published, published.draw_published),
}
OVER_N = ("time", "throughput", "speedup")  # the kinds of every set

# Without the date and the version of the software, a file changes only with its content.
VECTORS = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
PNG_DPI = 200
PNG_COLOURS = 256  # enough for lines and letters; a file is a third as large as with all colours


def write(
    measurements: pd.DataFrame,
    tables: Published,
    gpu: str,
    dtype: str,
    sweep: str,
    folder: Path,
    kinds: Iterable[str] = OVER_N,
) -> list[Path]:
    """Write {gpu}_{dtype}_{sweep}_{kind}.svg, .pdf and .png to `folder`; return these paths.

    Raises InputError, before anything is written, when there are no rows of the set.
    """
    measurements = with_controls(ranking.rank_variants(measurements))
    figures = {}
    for kind in kinds:
        choose, draw = KINDS[kind]
        figure = draw(choose(measurements, tables, gpu, dtype, sweep))
        figures[Path(folder, f"{gpu}_{dtype}_{sweep}_{kind}")] = figure
    return [path for stem, figure in figures.items() for path in save(figure, stem)]


def write_overview(measurements: pd.DataFrame, tables: Published, folder: Path) -> list[Path]:
    """Write overview.svg, .pdf and .png, the page of all sets, to `folder`; return these paths."""
    figure = overview.draw_overview(with_controls(ranking.rank_variants(measurements)), tables)
    return save(figure, Path(folder, "overview"))


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `figure` to `stem`.svg, .pdf and .png; return these paths."""
    contents = {suffix: io.BytesIO() for suffix in (*VECTORS, "png")}
    with matplotlib.rc_context(THEME):
        for suffix, metadata in VECTORS.items():
            figure.savefig(contents[suffix], format=suffix, metadata=metadata)
        figure.set_dpi(PNG_DPI)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    # MAXCOVERAGE, then k-means. The usual method chooses colours by frequency, and would merge the
    # rare reds of a scale into one.
    few = picture.quantize(
        PNG_COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
    )
    few.save(contents["png"], format="png", dpi=(PNG_DPI, PNG_DPI))
    targets = {stem.with_name(f"{stem.name}.{suffix}"): c for suffix, c in contents.items()}
    for path, content in targets.items():
        rows.write(path, content.getvalue())
    return list(targets)
