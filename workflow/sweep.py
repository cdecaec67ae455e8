"""From a configuration to the points of a sweep and the files that they become."""

import csv
import functools
import itertools
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import kernels
from measure.device import gpus
from measure.point import Point
from measure.row import PATH

from . import published as tables
from .config import ConfigError

CLUSTER_PROFILE = "profiles/slurm"
RECORDED_ONLY = "recorded"  # in place of a GPU: measure nothing, report what is recorded
ROW = f"results/cells/{PATH}"


def cells(row: str) -> Path:
    """The folder of all rows; ``row``: ROW, or what a prefix has made of it."""
    return Path(row.partition("/{gpu}/")[0])


def row_path(point: Point) -> str:
    """Where the row of a point lies; sweeps that share a point share its row."""
    return ROW.format(**vars(point))


def gpu_names(config: dict) -> list[str]:
    """The GPUs to measure: ``auto`` replaced by what is here, ``recorded`` left out, no repeats."""
    wanted = (gpu for gpu in config["gpus"] if gpu != RECORDED_ONLY)
    return list(dict.fromkeys(gpus.resolve(gpu) for gpu in wanted))


def points(config: dict, gpu: str) -> list[Point]:
    """Every point of the sweep on one GPU, in order, each once; see ``left_out`` for a CPU.

    Raises ConfigError when nothing is left to measure.
    """
    chosen = [p for p in _all_points(config, gpu) if not _too_much(p, config["cpu"])]
    if not chosen:
        raise ConfigError(
            f"nothing to measure on {gpu}: every point is larger than the limits under 'cpu'; "
            "raise them or choose smaller shapes"
        )
    return chosen


def left_out(config: dict, gpu: str) -> int:
    """How many points of the sweep are too much for this device."""
    return sum(_too_much(p, config["cpu"]) for p in _all_points(config, gpu))


def _all_points(config: dict, gpu: str) -> list[Point]:
    settings = {
        key: config[key]
        for key in (
            "op",
            "distribution",
            "seed",
            "interval_width",
            "time_budget_s",
            "timeout_s",
            "rival",
        )
    }
    found = {}
    files = {kernels.add(path): path for path in config["kernels"]}
    for shape in config["shapes"]:
        variants = shape.get("variants", config["variants"])
        variants = kernels.by_default(config["op"], files) if variants == "all" else variants
        for dtype, (M, N), variant in itertools.product(
            _dtypes_of_shape(config, shape), _matrices(shape), variants
        ):
            # only what the point needs: another file in the list measures nothing again
            named = (kernels.split(name)[0] for name in (variant, config["rival"]) if name)
            own = tuple(files[stem] for stem in dict.fromkeys(named) if stem in files)
            size = {"M": M, "N": N}
            point = Point(gpu=gpu, dtype=dtype, variant=variant, files=own, **size, **settings)
            found.setdefault(row_path(point), point)
    return list(found.values())


def _dtypes_of_shape(config: dict, shape: dict) -> list[str]:
    """The dtypes of an entry of ``shapes``."""
    return shape.get("dtypes", config["dtypes"])


def _dtypes_of_sweep(config: dict) -> list[str]:
    """Every dtype of the sweep, in order."""
    found = (dtype for shape in config["shapes"] for dtype in _dtypes_of_shape(config, shape))
    return list(dict.fromkeys(found))


def _matrices(shape: dict) -> Iterable[tuple[int, int]]:
    """Every (M, N) of an entry of ``shapes``."""
    if "elements" in shape:
        return [(max(1, shape["elements"] // N), N) for N in _sizes(shape["N"])]
    return list(itertools.product(_sizes(shape["M"]), _sizes(shape["N"])))


def _sizes(given) -> Iterable[int]:
    if isinstance(given, int):
        return [given]
    if isinstance(given, dict):
        sizes = range(given["from"], given["to"] + 1, given["step"])
        if not sizes:
            raise ConfigError(f"no sizes from {given['from']} to {given['to']}: 'to' is smaller")
        return sizes
    return given


def _too_much(point: Point, limits: dict) -> bool:
    if not point.is_cpu:
        return False
    too_long = point.interpreted and limits["max_interpreted_N"] < point.N
    return too_long or limits["max_elements"] < point.M * point.N


def figure_sets(config: dict, recorded: Path, published: Path) -> list[tuple[str, str, str]]:
    """(gpu, dtype, sweep) of every set of figures: measured here, recorded, published."""
    here = gpu_names(config)
    sets = [(gpu, dtype, config["sweep"]) for gpu in here for dtype in _dtypes_of_sweep(config)]
    for path in recorded_tables(here, recorded):
        sets += [(path.parent.name, dtype, path.stem) for dtype in _dtypes(path)]
    for table in tables.tables(published):
        sets += [(*kind, table.sweep) for kind in table.kinds]
    return list(dict.fromkeys(sets))


def recorded_tables(measured_here: list[str], recorded: Path) -> list[Path]:
    """Recorded tables of the GPUs that this sweep does not measure itself."""
    return sorted(p for p in recorded.glob("*/*.csv") if p.parent.name not in measured_here)


@functools.cache
def _dtypes(path: Path) -> tuple[str, ...]:
    """The dtypes of a recorded table. Raises ConfigError when its GPU is not the folder's."""
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    for line in found:
        name = line.get("gpu_name") or "a GPU without a name"
        if gpus.slug(name) != path.parent.name:
            raise ConfigError(
                f"{path}: rows of {name}, whose short name is {gpus.slug(name)!r}, in the folder "
                f"of {path.parent.name!r}; move the file to the folder of its GPU"
            )
    return tuple(dict.fromkeys(line["dtype"] for line in found))


@functools.cache
def code_sha256(folder: Path) -> str:
    """Return the hash over the Python files of a folder: where it changes, its rules run again."""
    return kernels.digest(folder.rglob("*.py"))


def options(point: Point) -> list[str]:
    """A point as options of ``python -m measure point``."""
    words = []
    for field, value in vars(point).items():
        if field == "files":
            words += [f"--kernel={path}" for path in value]  # it may begin with a dash
        elif value is not None:
            words += [f"--{field.removesuffix('_s').replace('_', '-')}", str(value)]
    return words


def threads(point: Point, cores: int | None) -> int:
    """Cores a job holds: all of them where the CPU itself is timed, so that it is alone."""
    return cores or 1 if point.is_cpu and point.timed else 1


def announce(config: dict, gpu: str, chosen: list[Point]) -> str:
    """One line on what a sweep is about to do; ``chosen``: its ``points``."""
    fewer = left_out(config, gpu)
    note = f" ({fewer} left out: too large for it, see 'cpu' in the config)" if fewer else ""
    return f"sweep {config['sweep']} on {gpu}: {len(chosen)} points{note}"


def command(
    configfiles: Iterable[Path],
    overrides: Mapping[str, object],
    snakefile: Path,
    root: str,
    on_cluster: bool = False,
) -> str:
    """The commands that repeat this sweep; paths relative to the working directory.

    ``snakefile``: the one that was started; ``root``: the project's folder, as seen from here.
    """
    files = [os.path.relpath(path) for path in configfiles]
    values = [f"{key}={value}" for key, value in overrides.items()]
    words = ["--configfile", *files] if files else []
    words += ["--config", *values] if values else []
    where = os.path.relpath(snakefile)
    call = ["snakemake", *(["--snakefile", where] if where != "Snakefile" else [])]
    if on_cluster:
        return shlex.join([*call, "--workflow-profile", CLUSTER_PROFILE, *words])
    by_snakemake = shlex.join([*call, "--cores", "all", *words])
    if (root, where) != (".", "Snakefile"):
        return by_snakemake
    by_make = ["make", "run", *([f"ARGS={shlex.join(words)}"] if words else [])]
    return f"{shlex.join(by_make)}\n# or, where Snakemake is installed:\n{by_snakemake}"
