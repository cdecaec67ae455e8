"""The table of a cluster's GPUs, and which points share an allocation."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from measure.device import gpus
from measure.point import Point, nearest

from .points import RECORDED_ONLY, matrix, row_path
from .validate import ConfigError

COLUMNS = ("gres", "partition", "constraint", "points")
# In a point, beside its time-out: Python and torch start in 3 s; the rest is margin to end it.
OVERHEAD_S = 10

Table = Mapping[str, Mapping[str, str | int]]


def table(file: Path) -> Table:
    """Return the table in profiles/slurm: type of a GPU -> what gets one, and how many points."""
    lines = yaml.safe_load(file.read_text()) or {}
    for gpu, line in lines.items():
        if "points" not in (line or {}):
            example = f'{gpu}: {{gres: "gpu:{gpu}:1", points: 60}}'
            raise ConfigError(f"{file}: {gpu} lacks 'points'; for example {example}")
        for key in set(line) - set(COLUMNS):
            raise ConfigError(f"{file}: {gpu} has an unknown key {key!r}{nearest(key, COLUMNS)}")
    return lines


def check(wanted: Iterable[str], known: Table) -> None:
    """Raise ConfigError unless the table, if there is one, has every GPU of the config."""
    if not known:
        return
    if gpus.AUTO in wanted:
        raise ConfigError(
            "gpus: 'auto' is the GPU of the machine that plans the sweep, not of the cluster. Name "
            f"the cluster's, for example 'gpus: [{', '.join(known)}]'"
        )
    for gpu in wanted:
        if gpu not in {*known, RECORDED_ONLY}:
            raise ConfigError(
                f"gpus: the profile's table has no line for {gpu!r}, which would say how to get "
                f"such a GPU{nearest(gpu, known)}"
            )


def allocations(points: Iterable[Point], known: Table) -> dict[str, str]:
    """Return the allocation of each row: matrices, up to the points that the table says.

    ``points``: those of a matrix one after another. A matrix is never divided: its variants are
    compared, and another allocation may have another board.
    """
    names, numbers, room = {}, Counter(), Counter()
    for (gpu, *_), same in itertools.groupby(points, matrix):
        paths = list(map(row_path, same))
        if len(paths) > room[gpu]:
            numbers[gpu] += 1
            room[gpu] = known[gpu]["points"]
        room[gpu] -= len(paths)
        names |= dict.fromkeys(paths, f"points_{gpu}_{numbers[gpu]}")
    return names


def minutes(timeout_s: float) -> int:
    """Return the minutes that a point may take; a cluster adds them up over an allocation."""
    return math.ceil((timeout_s + OVERHEAD_S) / 60)
