"""Expand a config into points: their order, their rows' paths, and their commands."""

import itertools
import os
import random
import shlex
from collections.abc import Iterable, Mapping, Sequence, Sized
from decimal import Decimal
from pathlib import Path

import yaml

import kernels
import operations
from measure.device import gpus
from measure.device.gpu_lock import assigned_gpu
from measure.errors import PointError
from measure.point import Point
from measure.row import MATRIX, PATH

from . import attempts
from .validate import ConfigError, ops

RECORDED_ONLY = "recorded"  # stands for a GPU: measure nothing, report what is recorded
ROW = f"results/rows/{PATH}"
LOG = f"results/logs/points/{PATH.removesuffix('.csv')}.log"
# Words that stand for variants, and who is meant.
VARIANT_KEYWORDS = {"all": kernels.default_variants, "rivals": kernels.rivals}
N_ALIGNMENTS = ((2, 1), (2, 0), (8, 0))  # (divisor, remainder): odd, even, words of 16 bytes
MAX_SIZES = 10**6  # a range has no more sizes, and an entry of shapes no more matrices
# The largest matrix, and the longest row in Triton's interpreter, that a CPU runs.
CPU_MAX_ELEMENTS, CPU_MAX_INTERPRETED_N = 2**22, 4096
MAX_DRAWS = 10_000  # draws of one shape; sweeps/random.yaml needs 2 on average


def matrix(point: Point) -> tuple:
    """Return the values that all points of one matrix share."""
    return tuple(getattr(point, name) for name in MATRIX)


def row_path(point: Point) -> str:
    """Return the path of the row of a planned point; it does not depend on the sweep."""
    return ROW.format(**vars(point))


def gpu_names(config: dict) -> list[str]:
    """Return the GPUs to measure, each once: `auto` resolved, `recorded` left out.

    Raises ConfigError if the package is missing that finds GPUs.
    """
    requested = (gpu for gpu in config["gpus"] if gpu != RECORDED_ONLY)
    try:
        return list(dict.fromkeys(gpus.resolve(gpu) for gpu in requested))
    except PointError as error:
        raise ConfigError(f"gpus: {error}") from None


def expand(config: dict, gpu: str) -> list[Point]:
    """Return every point of the sweep on one GPU, in the config's order, once per replicate."""
    keys = ("distribution", "seed", "blocks", "timeout_s")
    settings = {key: config[key] for key in keys}
    files = {kernels.add_variant(path): path for path in config["kernel_files"]}
    operation_files = {operations.add(path): path for path in config["operation_files"]}
    points = {}
    for op, shape in itertools.product(ops(config), config["shapes"]):
        settings |= {"op": op, "operation_files": ()}
        if op in operation_files:
            settings["operation_files"] = (operation_files[op],)
        variants = shape.get("variants", config["variants"])
        if isinstance(variants, str):
            variants = VARIANT_KEYWORDS[variants](op, files)
        # a sweep of one operation may be asked for another one, on the command line
        variants = [name for name in variants if op in kernels.ops(name)]
        dtypes = shape.get("dtypes", config["dtypes"])
        matrices = _matrices(shape, dtypes, config["seed"])
        for (dtype, M, N), variant in itertools.product(matrices, variants):
            # only the point's own file, so that a change of another file measures nothing again
            stem = kernels.split_config(variant)[0]
            own_files = (files[stem],) if stem in files else ()
            try:
                point = Point(gpu, dtype, M, N, variant, files=own_files, **settings)
            except PointError as error:  # the product of M and N is too large
                raise ConfigError(f"shapes: {error}") from None
            numbers = range(1, config["replicates"] + 1)
            replicates = [point.with_fields(replicate=number) for number in numbers]
            for point in attempts.current(replicates, row_path):
                points.setdefault(row_path(point), point)
    if not points:
        op_names = " or ".join(ops(config))
        raise ConfigError(f"no variant of the sweep {config['sweep']} computes {op_names}")
    return list(points.values())


def _matrices(shape: dict, dtypes: list[str], seed: int) -> list[tuple[str, int, int]]:
    """Return every (dtype, M, N) of an entry of `shapes`."""
    if "random" in shape:
        return _random_shapes(shape, dtypes, seed)
    return [(dtype, *size) for dtype, size in itertools.product(dtypes, sizes_of(shape))]


def sizes_of(shape: dict) -> list[tuple[int, int]]:
    """Return every (M, N) of an entry of `shapes` that is not random."""
    if "elements" in shape:
        return [(max(1, shape["elements"] // N), N) for N in _sizes(shape["N"])]
    rows, columns = _sizes(shape["M"]), _sizes(shape["N"])
    if len(rows) * len(columns) > MAX_SIZES:
        count = f"{len(rows)} M times {len(columns)} N"
        raise ConfigError(f"shapes: {count} are more than {MAX_SIZES} matrices; name fewer")
    return list(itertools.product(rows, columns))


def _random_shapes(entry: dict, dtypes: list[str], seed: int) -> list[tuple[str, int, int]]:
    """Return `entry["random"]` different (dtype, M, N) within the bounds of the entry.

    So kernels meet sizes that nobody tuned them for. M and N are independent and log-uniform; a
    pair counts where M·N is within its bounds, too. The dtypes take turns. From turn to turn N is
    odd, even, or a multiple of 8, which is 16 bytes in every dtype. Every machine draws the same:
    Python keeps the numbers of `random.Random.random`, and decimal rounds logarithms correctly.
    Raises ConfigError if the bounds do not have so many.
    """
    bounds = {name: (entry[name]["from"], entry[name]["to"]) for name in ("M", "N", "elements")}
    generator, shapes = random.Random(seed), {}
    for number in range(entry["random"]):
        turn, place = divmod(number, len(dtypes))
        divisor, remainder = N_ALIGNMENTS[turn % len(N_ALIGNMENTS)]
        for _ in range(MAX_DRAWS):
            M = _log_uniform(generator, *bounds["M"])
            N = _log_uniform(generator, *bounds["N"]) // divisor * divisor + remainder
            shape = dtypes[place], M, N
            is_inside = all(
                low <= size <= high
                for size, (low, high) in ((N, bounds["N"]), (M * N, bounds["elements"]))
            )
            if is_inside and shape not in shapes:
                break
        else:
            described = ", ".join(f"{name} from {a} to {b}" for name, (a, b) in bounds.items())
            raise ConfigError(
                f"random: only {number} of {entry['random']} shapes found with {described}; "
                "draw fewer, or widen the bounds"
            )
        shapes[shape] = None
    return list(shapes)


def _log_uniform(generator: random.Random, low: int, high: int) -> int:
    """Return low … high, each x with the probability of [x, x + 1) of a log-uniform number."""
    ratio = Decimal(high + 1) / low
    return int(low * (Decimal(generator.random()) * ratio.ln()).exp())


def _sizes(extent) -> Sequence[int]:
    if isinstance(extent, dict):
        sizes = range(extent["from"], extent["to"] + 1, extent["step"])
        if not sizes:
            raise ConfigError(f"no sizes from {extent['from']} to {extent['to']}: 'to' is smaller")
        if len(sizes) > MAX_SIZES:
            span = f"from {extent['from']} to {extent['to']} in steps of {extent['step']}"
            raise ConfigError(f"{len(sizes)} sizes {span}: at most {MAX_SIZES}; raise 'step'")
        return sizes
    return [extent] if isinstance(extent, int) else extent


def within_limits(expanded: Mapping[str, list[Point]]) -> dict[str, list[Point]]:
    """Return the points of each GPU, and those that a CPU can run in reasonable time.

    A GPU without points is left out. Raises ConfigError if none remains.
    """
    fitting = {gpu: [p for p in points if _fits(p)] for gpu, points in expanded.items()}
    fitting = {gpu: points for gpu, points in fitting.items() if points}
    if expanded and not fitting:
        raise ConfigError(
            f"nothing to measure on cpu: every point has more than {CPU_MAX_ELEMENTS} elements, or "
            f"needs Triton's interpreter for more than {CPU_MAX_INTERPRETED_N} columns; choose "
            "smaller shapes"
        )
    return fitting


def _fits(point: Point) -> bool:
    if not point.is_cpu:
        return True
    is_short = not point.interpreted or point.N <= CPU_MAX_INTERPRETED_N
    return is_short and point.M * point.N <= CPU_MAX_ELEMENTS


def announce(config: dict, gpu: str, expanded: Sized, points: Sized) -> str:
    """Return a line that says how many points a sweep has on a GPU, and how many were left out."""
    replicates = config["replicates"]
    count, left_out = len(points) // replicates, (len(expanded) - len(points)) // replicates
    repeated = f", {replicates} replicates each" if replicates > 1 else ""
    note = f" ({left_out} left out: too large for it)" if left_out else ""
    if names := _without_op(config):
        note += f" ({', '.join(names)} left out: no {' or '.join(ops(config))})"
    return f"sweep {config['sweep']} on {gpu}: {count} points{repeated}{note}"


def _without_op(config: dict) -> list[str]:
    """Return the named variants that compute no operation of the sweep."""
    lists = [config["variants"], *(shape.get("variants", "all") for shape in config["shapes"])]
    named_variants = dict.fromkeys(
        name for names in lists if not isinstance(names, str) for name in names
    )
    return [name for name in named_variants if kernels.ops(name).isdisjoint(ops(config))]


def in_measuring_order(
    points: Iterable[Point], seed: int, boards: Iterable[gpus.VisibleGpu] = ()
) -> list[Point]:
    """Return the points in the order of measuring: matrix after matrix, each in random order.

    The first replicate of a variant checks its results, so the others come later. `boards`: the
    GPUs of this machine. Each matrix belongs to one board, and the boards take turns.
    """
    by_matrix, by_board = {}, {}
    for point in points:
        by_matrix.setdefault(matrix(point), []).append(point)
    draw = random.Random(seed)
    for group in by_matrix.values():
        variants = [point.variant for point in group]
        draw.shuffle(variants)
        # the iterators give the replicates of a variant in order
        replicates = {name: iter([p for p in group if p.variant == name]) for name in variants}
        queue = by_board.setdefault(assigned_gpu(group[0], boards), [])
        queue += [next(replicates[name]) for name in variants]
    turns = itertools.zip_longest(*by_board.values())
    return [point for turn in turns for point in turn if point]


def first_row(point: Point) -> list[str]:
    """Return the row of replicate 1, whose checks later replicates rely on; [] for replicate 1."""
    return [row_path(point.with_fields(replicate=1))] if point.replicate > 1 else []


def options(point: Point) -> list[str]:
    """Return the options of `python -m measure point` that name files."""
    # A path may begin with a dash, so it follows an equals sign.
    words = [f"--kernel={path}" for path in point.files]
    words += [f"--operation={path}" for path in point.operation_files]
    return words + [f"--checked={path}" for path in first_row(point)]


def threads(point: Point) -> int:
    """Return the cores that a job holds, up to --cores: all of them where it times the CPU."""
    return os.cpu_count() or 1 if point.is_cpu and point.timed else 1


def reproduce_command(
    configfiles: Iterable[Path], overrides: Mapping[str, object], project: Path
) -> str:
    """Return the command that repeats this sweep, with paths relative to the working directory.

    `project`: the folder of the Snakefile.
    """
    files = [os.path.relpath(path) for path in configfiles]
    snakefile = os.path.relpath(project / "Snakefile")
    if (snakefile, files, overrides) == ("Snakefile", ["sweeps/recorded.yaml"], {}):
        return "make report"
    values = [f"{key}={_as_yaml(value)}" for key, value in overrides.items()]
    words = ["--snakefile", snakefile] if snakefile != "Snakefile" else []
    words += ["--cores", "all"]
    words += ["--configfile", *files] if files else []
    words += ["--config", *values] if values else []
    return shlex.join(["snakemake", *words])


def _as_yaml(value: object) -> str:
    """Return a value of `--config` on one line, as a person writes it: `[h200, cpu]`."""
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"))
    return text.removesuffix("...\n").strip()
