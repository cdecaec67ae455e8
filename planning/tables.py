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

SOURCES = "sources.yaml"
CODE = {".py", ".cu", ".cuh", ".js", ".css", ".j2"}


def recorded_tables(measured: Collection[str], folder: Path) -> list[Path]:
    """Return the recorded tables of the GPUs that this sweep does not measure."""
    return sorted(path for path in folder.glob("*/*.csv") if path.parent.name not in measured)


@functools.cache
def _recorded_rows(path: Path) -> list[dict[str, str]]:
    """Return MATRIX and variant of every row."""
    with path.open(newline="") as file:
        return [{name: row[name] for name in (*MATRIX, "variant")} for row in csv.DictReader(file)]


def gpus_by_sweep(
    sweep: str, planned: Iterable[Point], recorded: Iterable[Path], published: Path
) -> dict[tuple[str, str], set[str]]:
    """Return the GPUs of every dtype and sweep.

    `planned`: the points of `sweep`; `recorded`: the tables of other GPUs.
    `published`: the folder with sources.yaml, which names the sweep of every published table.
    """
    rows = [(vars(point), sweep) for point in planned]
    rows += [(row, path.stem) for path in recorded for row in _recorded_rows(path)]
    rows += [(s, s["sweep"]) for s in yaml.safe_load((published / SOURCES).read_text()).values()]
    by_sweep = {}
    for row, name in rows:
        by_sweep.setdefault((row["dtype"], name), set()).add(row["gpu"])
    return by_sweep


def shared_figures(by_sweep: dict[tuple[str, str], set[str]]) -> list[str]:
    """Return the names of the figures that no GPU owns; a CPU never stands beside GPUs."""
    several = [key for key, gpu in by_sweep.items() if len(gpu - {gpus.CPU}) > 1]
    return ["hero", *(f"gpus_{dtype}_{sweep}" for dtype, sweep in sorted(several))]


@functools.cache
def code_sha256(folder: Path) -> str:
    """Return the hash over the code of a folder; when it changes, rules run again."""
    return kernels.code_sha256(path for path in folder.rglob("*") if path.suffix in CODE)
