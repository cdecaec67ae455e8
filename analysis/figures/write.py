"""Choose and write the figures of a GPU, and those that no GPU owns."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from analysis import InputError, ranking, row_files
from analysis.figures import heatmap, lines, style
from analysis.frame import distinct
from analysis.panels import select
from analysis.published import Published

Drawing = Callable[[], Figure]
ALL = "all"  # in place of a GPU: the figures that no GPU owns


def write(measurements: pd.DataFrame, tables: Published, gpu: str, folder: Path) -> list[Path]:
    """Write the figures of a GPU, or of ALL, to `folder`/`gpu` as SVG and PNG; return the paths."""
    measurements = ranking.rank_variants(measurements)
    shared = gpu == ALL
    figures = _shared(measurements, tables) if shared else _of_gpu(measurements, tables, gpu)
    return draw(figures, Path(folder, gpu))


def draw(figures: Mapping[str, Drawing], folder: Path) -> list[Path]:
    """Draw figures and write them to `folder` by their names; return the paths.

    A figure that fails is named on standard error and left out: it must not cost the report. The
    folder is there even if all of them fail, because the workflow expects it.
    """
    paths = []
    row_files.make_folder(folder)
    for name, drawing in figures.items():
        try:
            paths += style.save(drawing(), folder / name)
        except InputError:  # the folder cannot be written
            raise
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            print(f"warning: no figure {name}, as drawing it failed: {fault}", file=sys.stderr)
    return paths


def _of_gpu(measurements: pd.DataFrame, tables: Published, gpu: str) -> dict[str, Drawing]:
    """Return map, and {dtype}_{sweep}_{kind}.

    The kinds: time, throughput, speedup where it is known, profile of ranking.MIN_MATRICES
    matrices, published where a short published table has the same dtype and sweep.
    """
    every, of_gpu = select(measurements, tables).rows, select(measurements, tables, gpu)
    if of_gpu.rows.empty:  # its recorded tables may have been left out
        known = ", ".join(distinct(every["gpu"])) or "no GPU"
        print(f"warning: no rows of gpu {gpu}; there are rows of: {known}", file=sys.stderr)
        return {}
    figures = {"map": partial(heatmap.draw_map, of_gpu)}
    for (dtype, sweep), rows in of_gpu.rows.groupby(["dtype", "sweep"]):
        stem, chosen = f"{dtype}_{sweep}", of_gpu._replace(rows=rows)
        figures[f"{stem}_time"] = partial(lines.draw_over_n, chosen, "time_us")
        figures[f"{stem}_throughput"] = partial(lines.draw_over_n, chosen, "throughput_gbps")
        if len(chosen.own) or chosen.rows["speedup"].notna().any():
            figures[f"{stem}_speedup"] = partial(heatmap.draw_speedup, chosen)
        if len(chosen.own) and len(ranking.profile(chosen.own)) >= ranking.MIN_MATRICES:
            figures[f"{stem}_profile"] = partial(lines.draw_profile, chosen)
        beside = [name for name, source in chosen.sources.items() if source.beside_measured]
        same = every[(every["dtype"] == dtype) & (every["sweep"] == sweep)]
        published = same[same["table"].isin(beside)]
        if gpu != lines.CPU and len(published):
            figures[f"{stem}_published"] = partial(lines.draw_published, chosen, published)
    return figures


def _shared(measurements: pd.DataFrame, tables: Published) -> dict[str, Drawing]:
    """Return hero, and gpus_{dtype}_{sweep} where two GPUs have rows of a dtype and sweep."""
    every = select(measurements[measurements["gpu"] != lines.CPU], tables)
    figures = {"hero": partial(lines.draw_hero, every)}
    for (dtype, sweep), rows in every.rows.groupby(["dtype", "sweep"]):
        if rows["gpu"].nunique() > 1:
            of = every._replace(rows=rows)
            figures[f"gpus_{dtype}_{sweep}"] = partial(lines.draw_over_n, of, "throughput_gbps")
    return figures
