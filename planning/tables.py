"""The recorded and published tables of the project, and the figures that they need."""

import contextlib
import csv
import functools
from collections.abc import Collection, Iterable
from pathlib import Path

import yaml

import kernels
from measure import fingerprint
from measure.device import gpus
from measure.point import Point
from measure.row import MATRIX

SOURCES = "sources.yaml"
EXPECTED = ("gpu", "variant", "kernel_sha256", "measure_sha256")  # of the current code


def recorded_tables(measured: Collection[str], folder: Path) -> list[Path]:
    """Return the recorded tables of the GPUs that this sweep does not measure."""
    return sorted(path for path in folder.glob("*/*.csv") if path.parent.name not in measured)


@functools.cache
def _recorded_rows(path: Path) -> list[dict[str, str]]:
    """Return every row, without what it measured."""
    with path.open(newline="") as file:
        return [{name: row[name] for name in (*MATRIX, "variant")} for row in csv.DictReader(file)]


def gpus_of_sets(
    sweep: str, planned: Iterable[Point], recorded: Iterable[Path], published: Path
) -> dict[tuple[str, str], set[str]]:
    """Return the GPUs of every dtype and sweep.

    ``planned``: the points of ``sweep``; ``recorded``: the tables of other GPUs.
    ``published``: the folder with sources.yaml, which names the sweep of every published table.
    """
    rows = [(vars(point), sweep) for point in planned]
    rows += [(row, path.stem) for path in recorded for row in _recorded_rows(path)]
    rows += [(s, s["sweep"]) for s in yaml.safe_load((published / SOURCES).read_text()).values()]
    sets = {}
    for row, name in rows:
        sets.setdefault((row["dtype"], name), set()).add(row["gpu"])
    return sets


def shared_figures(sets: dict[tuple[str, str], set[str]]) -> list[str]:
    """Return the names of the figures that no GPU owns; a CPU never stands beside GPUs."""
    several = [key for key, gpu in sets.items() if len(gpu - {gpus.CPU}) > 1]
    return ["hero", *(f"gpus_{dtype}_{sweep}" for dtype, sweep in sorted(several))]


def expected(planned: Iterable[Point], recorded: Iterable[Path]) -> list[tuple[str, ...]]:
    """Return the lines of results/expected.csv, one for each GPU and variant; see EXPECTED.

    A recorded variant that the project no longer has gets no line.
    """
    known = {(point.gpu, point.variant) for point in planned}
    for path in recorded:
        known |= {(path.parent.name, row["variant"]) for row in _recorded_rows(path)}
    lines = [EXPECTED]
    for gpu, variant in sorted(known):
        with contextlib.suppress(KeyError):
            digest = kernels.sha256(variant, gpu)
            lines.append((gpu, variant, digest, fingerprint.measure_sha256()))
    return lines


@functools.cache
def code_sha256(folder: Path) -> str:
    """Return the hash over the Python files of a folder; when it changes, rules run again."""
    return kernels.digest(folder.rglob("*.py"))
