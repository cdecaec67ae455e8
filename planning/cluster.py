"""The table of a cluster's GPUs, and which points share an allocation."""

import itertools
import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

from measure.device import gpus
from measure.point import Point, nearest

from .points import RECORDED_ONLY, matrix, row_path
from .validate import ConfigError

PROFILE, TABLE = "profiles/slurm", "gpus.yaml"
COLUMNS = ("gres", "partition", "constraint", "points")
# Seconds of a point beyond its time-out: Python and torch start in 3 s, and the rest is a margin.
OVERHEAD_S = 10

Table = Mapping[str, Mapping[str, str | int]]


def profile_with_table(names: Sequence[str], root: Path) -> str | None:
    """Return the folder of the first of these profiles that has a table of GPUs, or None.

    Raises ConfigError if all lack one, and one submits to Slurm: the table says how to request a
    GPU.
    """
    # Snakemake looks from where it is called, and then changes to --directory.
    parents = Path(), Path(os.environ.get("PWD", ".")), root
    places = [
        parent / part / name for name in names for parent in parents for part in ("", "profiles")
    ]
    for place in places:
        if (place / TABLE).is_file():
            return str(place)
    for file in (place / stem for place in places for stem in ("profile.yaml", "config.yaml")):
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if re.search(r"^executor: *slurm", text, re.M):
            raise ConfigError(
                f"the profile {file.parent.name} has no {TABLE}, which says how the cluster gives "
                f"each type of GPU; copy {root / PROFILE / TABLE} beside it, and edit it"
            )
    return None


def check_commands() -> None:
    """Raise WorkflowError without Slurm's commands: Snakemake would hang."""
    if shutil.which("sbatch") is None:
        raise WorkflowError(
            "the profile submits jobs to Slurm, and this machine has no sbatch; call Snakemake on "
            "a login node of the cluster, or without --workflow-profile to measure here"
        )


def table(file: Path) -> Table:
    """Return the table of a profile: GPU -> how to request one, and points per allocation.

    Raises ConfigError, naming the file, if it is not such a table.
    """
    try:
        lines = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file}: it is not valid YAML ({' '.join(str(error).split())})"
        ) from error
    if not isinstance(lines, dict):
        raise ConfigError(f"{file}: it must be a table, a line for each GPU; see its comments")
    if not lines:
        raise ConfigError(f"{file}: it names no GPU; add a line for each type, see its comments")
    for gpu, line in lines.items():
        if not isinstance(gpu, str):
            raise ConfigError(f"{file}: the GPU {gpu!r} is no text; put it in quotes")
        if not isinstance(line, dict) or "points" not in line:
            example = f'{gpu}: {{gres: "gpu:{gpu}:1", points: 60}}'
            raise ConfigError(f"{file}: {gpu} lacks 'points'; for example {example}")
        for key in set(line) - set(COLUMNS):
            raise ConfigError(f"{file}: {gpu} has an unknown key {key!r}{nearest(key, COLUMNS)}")
        for key, value in line.items():
            if key == "points" and (type(value) is not int or value < 1):
                raise ConfigError(
                    f"{file}: {gpu} has points: {value!r}; a whole number of at least 1 is needed"
                )
            if key != "points" and not isinstance(value, str):
                raise ConfigError(f"{file}: {gpu} has {key}: {value!r}; text is needed")
    return lines


def require_gpus(requested: Iterable[str], gpu_table: Table, file: Path) -> None:
    """Raise ConfigError unless the table, of this file, has every GPU of the config."""
    if gpus.AUTO in requested:
        raise ConfigError(
            "gpus: 'auto' is the GPU of the machine that plans the sweep, not of the cluster. Name "
            f"the cluster's, for example 'gpus: [{', '.join(gpu_table)}]'"
        )
    for gpu in requested:
        if gpu not in {*gpu_table, RECORDED_ONLY}:
            boards = [name for name in gpu_table if name.startswith(f"{gpu}_")]
            raise ConfigError(
                f"gpus: {file} has no line for {gpu!r}, which would say how to get such a GPU; "
                f"add one there, or name a GPU that it has{nearest(gpu, boards or gpu_table)}"
            )


def allocations(points: Iterable[Point], gpu_table: Table) -> dict[str, str]:
    """Return path of a row -> name of its allocation.

    `points`: the points of a matrix must follow each other. An allocation takes whole matrices,
    up to the number of points in the table. A matrix is never divided, because its variants are
    compared and another allocation may get another board.
    """
    names, numbers, room = {}, Counter(), Counter()
    for (gpu, *_), group in itertools.groupby(points, matrix):
        paths = list(map(row_path, group))
        if len(paths) > room[gpu]:
            numbers[gpu] += 1
            room[gpu] = gpu_table[gpu]["points"]
        room[gpu] -= len(paths)
        names |= dict.fromkeys(paths, f"points_{gpu}_{numbers[gpu]}")
    return names


def minutes(timeout_s: float) -> int:
    """Return the minutes to request for a point; an allocation requests their sum."""
    return math.ceil((timeout_s + OVERHEAD_S) / 60)
