"""Writing a set of figures, as SVG and PNG, the same bytes for the same rows."""

from contextlib import ExitStack
from pathlib import Path

import matplotlib
import pandas as pd

from analysis import atomic
from analysis.figures import axes, curves, heatmap
from analysis.figures.select import select
from analysis.published import Published

KINDS = {
    "time": curves.draw_time,
    "throughput": curves.draw_throughput,
    "speedup": heatmap.draw_speedup,
}
# No date and no version of the software, so that a file changes only with its content.
METADATA = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
PNG_DPI = 130


def write(
    measurements: pd.DataFrame,
    published: Published,
    gpu: str,
    dtype: str,
    sweep: str,
    folder: Path,
) -> list[Path]:
    """Write {gpu}_{dtype}_{sweep}_{kind}.svg and .png to `folder` for every kind in KINDS.

    All six appear together or none does. Raises InputError when there are no rows of the set.
    """
    selection = select(measurements, published, gpu, dtype, sweep)
    targets = []
    with ExitStack() as stack:
        for kind, draw in KINDS.items():
            figure = draw(selection)
            for suffix, metadata in METADATA.items():
                target = Path(folder) / f"{gpu}_{dtype}_{sweep}_{kind}.{suffix}"
                temporary = stack.enter_context(atomic.replacing(target))
                with matplotlib.rc_context(axes.THEME):
                    figure.savefig(temporary, format=suffix, metadata=metadata, dpi=PNG_DPI)
                targets.append(target)
    return targets
