"""Choose and write the figures of a GPU, and those that no GPU owns."""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from analysis import InputError, ranking, row_files
from analysis.figures import bars, heatmap, lines, profile, style
from analysis.figures.panels import MIN_SIZES, Selection, by_rule, select
from analysis.frame import distinct, is_ranked
from analysis.published import Published
from measure.device.gpus import CPU

Drawing = Callable[[], Figure]
ALL = "all"  # stands in place of a GPU: the figures that no GPU owns


def write(measurements: pd.DataFrame, tables: Published, gpu: str, folder: Path) -> list[Path]:
    """Write the figures of a GPU, or of ALL, to `folder`/`gpu` as SVG and PNG; return the paths."""
    measurements = ranking.rank_variants(measurements)
    shared = gpu == ALL
    figures = _shared(measurements, tables) if shared else _of_gpu(measurements, tables, gpu)
    return draw(figures, Path(folder, gpu))


def draw(figures: Mapping[str, Drawing], folder: Path) -> list[Path]:
    """Draw figures and write them to `folder` by their names; return the paths.

    A figure that fails is named on standard error and left out: one bad figure must not stop the
    report. The folder is there even if all of them fail, because the workflow expects it.
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
    """Return the figures of a GPU: {dtype}_{sweep}_{time, throughput, speedup}, {sweep}_profile.

    One size is no line, and a time over M·N would say nothing. A profile needs
    ranking.MIN_MATRICES sizes.
    """
    all_gpus, chosen = select(measurements, tables), select(measurements, tables, gpu)
    if chosen.rows.empty:  # its recorded tables may have been left out
        gpus = ", ".join(distinct(all_gpus.rows["gpu"])) or "no GPU"
        print(f"warning: no rows of gpu {gpu}; there are rows of: {gpus}", file=sys.stderr)
    figures: dict[str, Drawing] = {}
    for stem, part in _by_sweep(chosen):
        if _has_lines(part.rows):
            figures[f"{stem}_throughput"] = partial(lines.draw_over_n, part, "throughput_gbps")
            if _sizes_of_a_rule(part.rows):
                figures[f"{stem}_time"] = partial(lines.draw_over_n, part, "time_us")
        if len(part.own) or part.rows["speedup"].notna().any():
            figures[f"{stem}_speedup"] = partial(heatmap.draw_speedup, part)
    for sweep, rows in chosen.own.groupby("sweep"):
        if len(ranking.profile(rows)) >= ranking.MIN_MATRICES:
            part = chosen._replace(rows=rows)
            figures[f"{sweep}_profile"] = partial(profile.draw_profile, part)
    return figures


def _shared(measurements: pd.DataFrame, tables: Published) -> dict[str, Drawing]:
    """Return the figures with the GPUs side by side.

    They are hero, {op}_grid, {dtype}_{sweep}_throughput of two GPUs and more, {dtype}_{sweep}_gain
    of more than panels.MIN_SIZES sizes, and {dtype}_{sweep}_published where a published table asks
    for it.
    """
    all_gpus = select(measurements[measurements["gpu"] != CPU], tables)
    figures: dict[str, Drawing] = {"hero": partial(bars.draw_hero, all_gpus)}
    for op, rows in all_gpus.own.groupby("op"):
        figures[f"{op}_grid"] = partial(heatmap.draw_grid, all_gpus._replace(rows=rows))
    for stem, part in _by_sweep(all_gpus):
        if _has_lines(part.rows) and part.rows["gpu"].nunique() > 1:
            figures[f"{stem}_throughput"] = partial(lines.draw_over_n, part, "of_peak")
        if _sizes_of_a_rule(part.own) > MIN_SIZES:
            figures[f"{stem}_gain"] = partial(lines.draw_gain, part)
        beside = [name for name, source in part.sources.items() if source.beside_measured]
        published = part.rows[part.rows["table"].isin(beside)]
        if len(published) and len(part.own):
            figures[f"{stem}_published"] = partial(lines.draw_published, part, published)
    return figures


def _by_sweep(selection: Selection) -> Iterator[tuple[str, Selection]]:
    """Yield `{dtype}_{sweep}` and its rows."""
    for (dtype, sweep), rows in selection.rows.groupby(["dtype", "sweep"]):
        yield f"{dtype}_{sweep}", selection._replace(rows=rows)


def _has_lines(rows: pd.DataFrame) -> bool:
    return rows.loc[is_ranked(rows, any_board=True), "N"].nunique() > 1


def _sizes_of_a_rule(rows: pd.DataFrame) -> int:
    """Return the most N that a GPU has by one rule of M; 0 if there is no rule."""
    split = by_rule(rows)
    sizes = split[split["rule"] != ""].groupby(["gpu", "rule"])["N"].nunique()
    return max(sizes, default=0)
