"""Saving a figure as SVG, PDF and PNG, the same bytes for the same figure."""

from contextlib import ExitStack
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from analysis import atomic
from analysis.figures.axes import THEME

# No date and no version of the software, so that a file changes only with its content.
VECTORS = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
PNG_DPI = 200
PNG_COLOURS = 256  # lines and letters have few; a file is a third as large as with all


def save(figure: Figure, stem: Path, stack: ExitStack) -> list[Path]:
    """Save `figure` as `stem`.svg, .pdf and .png; the files appear when `stack` is left.

    Raises InputError when the folder cannot be written.
    """
    targets = [stem.with_name(f"{stem.name}.{suffix}") for suffix in (*VECTORS, "png")]
    *vectors, png = (stack.enter_context(atomic.replacing(target)) for target in targets)
    with matplotlib.rc_context(THEME):
        for path, (suffix, metadata) in zip(vectors, VECTORS.items(), strict=True):
            figure.savefig(path, format=suffix, metadata=metadata)
        figure.set_dpi(PNG_DPI)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    # By what is there, then nearer to what is there often: by that alone, the usual method, the
    # rare reds of a scale become one.
    few = picture.quantize(
        PNG_COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
    )
    few.save(png, format="png", dpi=(PNG_DPI, PNG_DPI))
    return targets
