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

# Kinds of figures: of every set, of a set with MIN_MATRICES, of one beside a published table.
OVER_N, PROFILE, PUBLISHED = ("time", "throughput", "speedup"), "profile", "published"
MIN_MATRICES = 20
EXPECTED = ("gpu", "variant", "kernel_sha256", "measure_sha256")  # of the current code


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

    ``planned``: the points of ``sweep``; ``recorded``: the tables of other GPUs.
    ``published``: the folder with sources.yaml, which names the sweep of every published table.
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
