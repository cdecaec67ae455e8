"""Which figures there are, and writing them: the same bytes for the same rows."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import pandas as pd

from analysis.figures import bars, controls, curves, heatmap, overview
from analysis.figures.save import save
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
BARS = ("published",)  # only where a published table is short enough to stand beside measured rows
OVERVIEW = "overview"  # of all sets


def write(
    measurements: pd.DataFrame,
    published: Published,
    gpu: str,
    dtype: str,
    sweep: str,
    folder: Path,
    kinds: Iterable[str] = OVER_N,
) -> list[Path]:
    """Write {gpu}_{dtype}_{sweep}_{kind}.svg, .pdf and .png to `folder` for some kinds of KINDS.

    All of them appear together or none does. Raises InputError when there are no rows of the set.
    """
    measurements = controls.added(measurements)
    with ExitStack() as stack:
        found = []
        for kind in kinds:
            choose, draw = KINDS[kind]
            figure = draw(choose(measurements, published, gpu, dtype, sweep))
            found += save(figure, Path(folder, f"{gpu}_{dtype}_{sweep}_{kind}"), stack)
        return found


def write_overview(measurements: pd.DataFrame, published: Published, folder: Path) -> list[Path]:
    """Write overview.svg, .pdf and .png, the page of all that was timed, to `folder`."""
    figure = overview.draw_overview(controls.added(measurements), published)
    with ExitStack() as stack:
        return save(figure, Path(folder, OVERVIEW), stack)
