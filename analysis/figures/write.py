"""Writing a set of figures, as SVG and PNG, the same bytes for the same rows."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import matplotlib
import pandas as pd

from analysis import atomic
from analysis.figures import axes, bars, curves, heatmap
from analysis.figures.select import beside_published, select
from analysis.published import Published

# kind -> which rows it shows, and how
KINDS = {
    "time": (select, curves.draw_time),
    "throughput": (select, curves.draw_throughput),
    "speedup": (select, heatmap.draw_speedup),
    "published": (beside_published, bars.draw_published),
}
OVER_N = ("time", "throughput", "speedup")  # every set has these
BARS = ("published",)  # only where a published table is short enough for bars
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
    kinds: Iterable[str] = OVER_N,
) -> list[Path]:
    """Write {gpu}_{dtype}_{sweep}_{kind}.svg and .png to `folder` for some kinds of KINDS.

    All of them appear together or none does. Raises InputError when there are no rows of the set.
    """
    targets = []
    with ExitStack() as stack:
        for kind in kinds:
            choose, draw = KINDS[kind]
            figure = draw(choose(measurements, published, gpu, dtype, sweep))
            for suffix, metadata in METADATA.items():
                target = Path(folder) / f"{gpu}_{dtype}_{sweep}_{kind}.{suffix}"
                temporary = stack.enter_context(atomic.replacing(target))
                with matplotlib.rc_context(axes.THEME):
                    figure.savefig(temporary, format=suffix, metadata=metadata, dpi=PNG_DPI)
                targets.append(target)
    return targets
