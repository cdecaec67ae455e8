"""The recorded and published tables of the project, and the figures that they need."""

import csv
import functools
from collections.abc import Collection, Iterable
from pathlib import Path

import yaml

import kernels
from measure.device import gpus
from measure.point import Point
from measure.row import MATRIX

# Kinds of figures: of every set, of a set with MIN_MATRICES, of one beside a published table.
OVER_N, PROFILE, PUBLISHED = ("time", "throughput", "speedup"), "profile", "published"
MIN_MATRICES = 20
CODE = {".py", ".cu", ".cuh", ".csv"}  # the last: tuning tables


def recorded_tables(measured: Collection[str], folder: Path) -> list[Path]:
    """Return the recorded tables of the GPUs that this sweep does not measure."""
    return sorted(path for path in folder.glob("*/*.csv") if path.parent.name not in measured)


@functools.cache
def _recorded_rows(path: Path) -> list[dict[str, str]]:
    """Return every row, without what it measured."""
    with path.open(newline="") as file:
        return [{name: row[name] for name in (*MATRIX, "variant")} for row in csv.DictReader(file)]


def figures(
    sweep: str, planned: Iterable[Point], recorded: Iterable[Path], published: Path
) -> list[str]:
    """Return the names of the figures of each GPU, dtype and sweep.

    `planned`: the points of `sweep`; `recorded`: the tables of other GPUs.
    `published`: the folder with sources.yaml, which names the sweep of every published table.
    """
    sources = yaml.safe_load((published / "sources.yaml").read_text()).values()
    sets = {}  # set -> its matrices
    rows = [(sweep, vars(point)) for point in planned]
    rows += [(path.stem, row) for path in recorded for row in _recorded_rows(path)]
    for name, row in rows:
        matrices = sets.setdefault((row["gpu"], row["dtype"], name), set())
        matrices.add(tuple(row[key] for key in MATRIX))
    for source in sources:
        sets.setdefault((source["gpu"], source["dtype"], source["sweep"]), set())
    beside = {(source["dtype"], source["sweep"]) for source in sources if source["beside_measured"]}
    names = []
    for (gpu, *others), matrices in sets.items():
        kinds = list(OVER_N)
        kinds += [PROFILE] if len(matrices) >= MIN_MATRICES else []
        # times of a CPU are never drawn beside those of a GPU
        kinds += [PUBLISHED] if tuple(others) in beside and gpu != gpus.CPU else []
        names += ["_".join([gpu, *others, kind]) for kind in kinds]
    return names


@functools.cache
def code_sha256(folder: Path) -> str:
    """Return the hash over the code of a folder; when it changes, rules run again."""
    return kernels.digest(path for path in folder.rglob("*") if path.suffix in CODE)
