"""Rows as ``python -m measure point`` writes them, one after the other, without a sweep.

The points are measured by children of one server (``measure.process.fork_server``), which belongs
to this process, as those of a sweep are by children of one that belongs to Snakemake.
"""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from measure import row
from measure.point import Point
from measure.process import fork_client, launch, run_point

CELL = "{gpu}/{op}/{dtype}/{distribution}/M{M}/N{N}/{variant}.csv"  # as planning/points.py has it
NO_ROW = "no row"  # in place of a status: the pipeline itself was at fault


def run(points: Iterable[Point], root: Path, say: Callable[[str], object] = print) -> list[dict]:
    """Measure every point and write its row, and its samples, below ``root``; the rows, in order.

    Nothing that happens to one point ends the others: a point without a row (see
    ``supervise.NoRow``) has the status NO_ROW here and no file. ``say`` is given a line per point.
    """
    points, done = list(points), []
    run, begin = fork_client.starter(os.getpid()), time.monotonic()
    for number, point in enumerate(points, 1):
        done.append(_measure(point, Path(root), run))
        eta_s = (time.monotonic() - begin) / number * (len(points) - number)
        say(f"{number}/{len(points)} {_words(point, done[-1])}, eta {eta_s:.0f} s")
    return done


def cell(point: Point) -> Path:
    """Where the row of a point lies below the root."""
    return Path(CELL.format(**vars(point)))


def _measure(point: Point, root: Path, run: launch.Start) -> dict:
    try:
        measured, samples = run_point.measure_point(point, run)
        row.write(root / cell(point), measured, samples)
    except (run_point.NoRow, OSError, ValueError) as error:
        return {"status": NO_ROW, "message": row.one_line(error)}
    return measured


def _words(point: Point, measured: dict) -> str:
    words = f"{point.variant} {point.M}x{point.N} {measured['status']}"
    words += f": {measured['message']}" if measured.get("message") else ""
    return words + (f" {measured['wall_s']:.1f} s" if "wall_s" in measured else "")
