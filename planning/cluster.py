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

PROFILE, TABLE = "profiles/slurm", "gpus.yaml"
COLUMNS = ("gres", "partition", "constraint", "points")
# Seconds of a point beyond its time-out: Python and torch start in 3 s, and the rest is a margin.
OVERHEAD_S = 10

Table = Mapping[str, Mapping[str, str | int]]


def profile(name: str | None, root: Path) -> str:
    """Return the profile of that name, by default profiles/slurm of this project.

    Raises ConfigError if it has no gpus.yaml.
    """
    name = name or str(root / PROFILE)
    places = [Path(name), Path("profiles", name), root / "profiles" / name]
    found = next((place for place in places if (place / TABLE).is_file()), None)
    if found is None:
        raise ConfigError(
            f"the profile {name} has no {TABLE}, which says how the cluster gives each type of "
            f"GPU; copy {root / PROFILE / TABLE} beside its profile.yaml, and edit it"
        )
    return str(found)


def table(file: Path) -> Table:
    """Return the table of a profile: GPU -> how to request one, and points per allocation."""
    lines = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    for gpu, line in lines.items():
        if "points" not in (line or {}):
            example = f'{gpu}: {{gres: "gpu:{gpu}:1", points: 60}}'
            raise ConfigError(f"{file}: {gpu} lacks 'points'; for example {example}")
        for key in set(line) - set(COLUMNS):
            raise ConfigError(f"{file}: {gpu} has an unknown key {key!r}{nearest(key, COLUMNS)}")
    return lines


def check(wanted: Iterable[str], known: Table) -> None:
    """Raise ConfigError unless the table has every GPU of the config."""
    if gpus.AUTO in wanted:
        raise ConfigError(
            "gpus: 'auto' is the GPU of the machine that plans the sweep, not of the cluster. Name "
            f"the cluster's, for example 'gpus: [{', '.join(known)}]'"
        )
    for gpu in wanted:
        if gpu not in {*known, RECORDED_ONLY}:
            boards = [name for name in known if name.startswith(f"{gpu}_")]
            raise ConfigError(
                f"gpus: the profile's table has no line for {gpu!r}, which would say how to get "
                f"such a GPU{nearest(gpu, boards or known)}"
            )


def allocations(points: Iterable[Point], known: Table) -> dict[str, str]:
    """Return path of a row -> name of its allocation.

    `points`: the points of a matrix must follow each other. An allocation takes whole matrices,
    up to the number of points in the table. A matrix is never divided, because its variants are
    compared and another allocation may get another board.
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
    """Return the minutes to request for a point; an allocation requests their sum."""
    return math.ceil((timeout_s + OVERHEAD_S) / 60)
