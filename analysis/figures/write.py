"""Choose and write the figures of a GPU, and those that no GPU owns; see `write_gpu`."""

from pathlib import Path

import pandas as pd

from analysis import InputError, ranking
from analysis.figures import heatmap, lines, style
from analysis.figures.controls import CONTROL, with_controls
from analysis.panels import existing, select
from analysis.published import Published


def write_gpu(measurements: pd.DataFrame, tables: Published, gpu: str, folder: Path) -> list[Path]:
    """Write the figures of a GPU to `folder`/`gpu` as SVG and PNG; return the paths.

    They are map, and {dtype}_{sweep}_{kind}: time, throughput, speedup where it is known, profile
    of ranking.MIN_MATRICES matrices, published where a short published table has the same dtype and
    sweep. Raises InputError for a GPU without rows.
    """
    every = existing(measurements, tables)
    if gpu not in (known := sorted({key[0] for key in every})):
        raise InputError(f"no rows of gpu {gpu}; there are rows of: {', '.join(known) or 'no GPU'}")
    measurements = with_controls(ranking.rank_variants(measurements))
    figures = {"map": heatmap.draw_map(measurements, tables, gpu)}
    for key in (key for key in every if key[0] == gpu):
        stem, chosen = f"{key[1]}_{key[2]}", select(measurements, tables, *key)
        figures[f"{stem}_time"] = lines.draw_over_n(chosen, "time_us")
        figures[f"{stem}_throughput"] = lines.draw_over_n(chosen, "throughput_gbps")
        if len(chosen.own) or chosen.published["speedup"].notna().any():
            figures[f"{stem}_speedup"] = heatmap.draw_speedup(chosen)
        competing = chosen.own[chosen.own["flags"] != CONTROL]
        if len(competing) and len(ranking.profile(competing)) >= ranking.MIN_MATRICES:
            figures[f"{stem}_profile"] = lines.draw_profile(chosen)
        same = [each for each in tables.sources.values() if (each.dtype, each.sweep) == key[1:]]
        if gpu != lines.CPU and (sources := [each for each in same if each.beside_measured]):
            figures[f"{stem}_published"] = lines.draw_published(chosen, tables.rows, sources)
    return [path for name in figures for path in style.save(figures[name], Path(folder, gpu, name))]


def write_shared(measurements: pd.DataFrame, tables: Published, folder: Path) -> list[Path]:
    """Write the figures that no GPU owns to `folder` as SVG and PNG; return the paths.

    They are hero, and gpus_{dtype}_{sweep} where two GPUs have rows of a dtype and sweep.
    """
    measurements = with_controls(ranking.rank_variants(measurements))
    figures = {"hero": lines.draw_hero(measurements)}
    keys = [key for key in existing(measurements, tables) if key[0] != lines.CPU]
    for dtype, sweep in sorted({key[1:] for key in keys}):
        same = [key for key in keys if key[1:] == (dtype, sweep)]
        chosen = [select(measurements, tables, *key) for key in same]
        if len(chosen) > 1:
            figures[f"gpus_{dtype}_{sweep}"] = lines.draw_gpus(chosen)
    return [path for name in figures for path in style.save(figures[name], Path(folder, name))]
