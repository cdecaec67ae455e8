"""`make shape M=4096 N=128256 DTYPE=bfloat16 OP=log_softmax`: rank the rivals at one shape.

`KERNEL=my_softmax.py` measures a kernel of your own beside torch, this project's kernel and every
peer, and the last line is a sentence on it. `PROFILE=my_softmax.ncu-rep` then profiles one call of
it with Nsight Compute. Rows are those of a sweep: they lie in results/rows,
and what is there is not measured again. Without a GPU the kernels are checked on a few rows.
The exit code is 0, 1 if your kernel is wrong or fails, 2 for bad input, and 130 after Ctrl-C.
"""

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

import kernels
from analysis import InputError
from analysis.report import shape_ranking
from analysis.row_files import read_row_file
from kernels.registry.by_file import variant_of_file
from kernels.terminal import replace_missing_characters
from measure import ROOT
from measure.device import gpus
from measure.errors import PointError
from measure.point import MIN_BLOCKS, Point
from measure.process import profile
from measure.process.fork_client import with_project
from measure.process.profile import ProfileError
from measure.row import IDENTITY
from measure.status import Status
from planning import machine, points, single_shape, validate

EXAMPLE = "make shape M=4096 N=128256 DTYPE=bfloat16 OP=log_softmax"
# On a GPU the answer comes within two minutes: no point starts after the first time, and none takes
# longer than the second.
LAST_START_S, TIMEOUT_S = 80, 40
REPLICATES = 3  # they show the spread between processes, as in `make record`
CPU_ROWS = 16  # at most, of the matrix on which a CPU checks; a kernel treats all rows alike
NO_TIME = "not timed within two minutes; rerun the command to continue"


def parser() -> argparse.ArgumentParser:
    """Return the parser of what `make shape` passes on; an empty text stands for a default."""
    top = argparse.ArgumentParser(prog="python -m tools.shape", description=__doc__)
    for name, about in {
        "M": "rows",
        "N": "columns",
        "dtype": "float32, float16 or bfloat16",
        "op": "an operation of operations/",
        "kernel": "a .py file with a kernel of your own, or the name of one of the project",
        "profile": "file for Nsight Compute's profile of this kernel",
    }.items():
        top.add_argument(f"--{name}", default="", help=about)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    return exit_code(answer_and_profile, parser().parse_args(arguments))


def exit_code(work: Callable[..., int], *arguments: object) -> int:
    """Return what `work` returns; after one line of why, 2 for bad input and 130 for Ctrl-C."""
    try:
        return work(*arguments)
    except (PointError, kernels.KernelFileError, WorkflowError, InputError, ProfileError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: rerun the command to continue", file=sys.stderr)
        return 128 + signal.SIGINT


def answer_and_profile(options: argparse.Namespace) -> int:
    """Rank all at the shape, and profile the kernel if asked to; return the exit code."""
    asked = question(options)
    if options.profile:
        profile.require_profiler(asked, Path(options.profile))  # before time is spent
    code = answered(asked, bool(options.kernel))
    if options.profile:
        print(f"profile: {profile.write_profile(asked, Path(options.profile))}")
    return code


def answered(asked: Point, has_kernel: bool) -> int:
    """Measure all rivals at a shape, and print the ranking; return the exit code.

    `has_kernel`: the ranking ends with a sentence on the kernel of `asked`. Raises ConfigError,
    WorkflowError if this machine cannot measure, and InputError for a broken row.
    """
    if importlib.util.find_spec("torch") is None:
        raise validate.ConfigError("torch is not installed in .venv: run `make run`")
    machine.require_tools({asked.gpu})
    planned = plan(asked)
    unmeasured = measure_all(planned)
    rows = [Path(points.row_path(point)) for point in planned]
    table = shape_ranking.load(row for row in rows if row.exists())
    print(f"{asked.op}, {asked.dtype}, {asked.M} x {asked.N}, on {asked.gpu}\n")
    if asked.is_cpu:
        print(shape_ranking.checked(table, unmeasured))
        few = f"{0 if table.empty else planned[0].M} of {asked.M} rows"
        print(f"\nNo GPU found: kernels were checked on {few}, and nothing was timed on a GPU.")
    else:
        print(shape_ranking.report(table, unmeasured))
    if not has_kernel:
        return int(table.empty)
    print(f"\n{shape_ranking.verdict(table, asked.variant, unmeasured)}")
    return int(shape_ranking.fails(table, asked.variant))


def question(options: argparse.Namespace) -> Point:
    """Return the point of the shape, of torch or of the given kernel. Raises PointError."""
    for name in ("M", "N"):
        if not getattr(options, name):
            raise PointError(f"{name} is missing: {EXAMPLE}")
    if options.profile and not options.kernel:
        raise PointError(f"PROFILE needs KERNEL, the kernel to profile: {EXAMPLE} KERNEL=frontier")
    M, N = (int(text) if text.isdecimal() else text for text in (options.M, options.N))
    names = {name: getattr(options, name) for name in ("dtype", "op") if getattr(options, name)}
    files, variant = (), kernels.torch_variant(names.get("op", Point.op))
    if options.kernel and (own := _project_variant(options.kernel)):
        variant = own
    elif options.kernel:
        files, variant = (options.kernel,), kernels.add_variant(options.kernel)
    gpu = gpus.resolve(gpus.AUTO)
    names = {"dtype": "float32", "distribution": single_shape.DEFAULTS["distribution"]} | names
    asked = Point(gpu, M=M, N=N, variant=variant, files=files, **names)
    if asked.op not in (computed := kernels.ops(variant)):
        words = ", ".join(sorted(computed))
        raise PointError(f"{options.kernel or variant} does not compute {asked.op}, but {words}")
    return asked


def _project_variant(kernel: str) -> str | None:
    """Return the project's variant, or config of one, that has this name or this file."""
    try:
        kernels.variant_file(kernel)
    except KeyError:
        return variant_of_file(kernel)
    return kernel


def plan(asked: Point) -> list[Point]:
    """Return the points of all rivals at a shape, that of `asked` first. Raises ConfigError."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    rows = asked.M
    if asked.is_cpu:
        rows = min(rows, CPU_ROWS)
        config["blocks"] = MIN_BLOCKS
    config["replicates"] = 1 if asked.is_cpu else REPLICATES
    config |= {"op": asked.op, "dtype": asked.dtype, "shape": f"{rows}x{asked.N}"}
    config |= {"kernel_files": list(asked.files), "timeout_s": TIMEOUT_S}
    config["variants"] = list(dict.fromkeys([asked.variant, *kernels.rivals(asked.op)]))
    single_shape.expand_words(config, user_keys={"variants"})
    validate.validate_config(config)
    # every kernel once, before any of them a second time
    return sorted(points.expand(config, asked.gpu), key=lambda point: point.replicate)


def measure_all(planned: Sequence[Point]) -> dict[str, str]:
    """Measure points that have no row; return the kernels that still have none, and why.

    A further replicate only narrows the intervals: it is left out where no time is left.
    """
    begin, unmeasured = time.monotonic(), {}
    for number, point in enumerate(planned, start=1):
        row = Path(points.row_path(point))
        late = not point.is_cpu and time.monotonic() - begin > LAST_START_S
        if _is_settled(point, row) or (late and point.replicate > 1):
            continue
        name = f"{point.variant}{f', process {point.replicate}' * (point.replicate > 1)}"
        print(f"{number} of {len(planned)}: {name}", file=sys.stderr, flush=True)
        fault = NO_TIME if late else measure(point, row)
        if fault and point.replicate == 1:
            unmeasured[point.variant] = fault
    return unmeasured


def _is_settled(point: Point, row: Path) -> bool:
    """Return whether a point has its row, or is a further replicate of what has no time.

    A row `unavailable` may lack what no fingerprint tells, such as nvcc, so it is tried again.
    """
    if row.exists():
        return read_row_file(row)["status"] != Status.UNAVAILABLE
    first = [Path(path) for path in points.first_row(point)]
    return any(not path.exists() or read_row_file(path)["status"] != Status.OK for path in first)


def measure(point: Point, row: Path) -> str | None:
    """Measure a point in another process, into the file `row`; return None or a fault."""
    log = Path(points.LOG.format(**vars(point)))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        environment, words = with_project(os.environ), command(point, row)
        done = subprocess.run(words, stdout=file, stderr=subprocess.STDOUT, env=environment)
    if done.returncode == 0:
        return None
    said = log.read_text(encoding="utf-8", errors="replace").splitlines() or ["it ended silently"]
    return f"no row, because {said[-1].removeprefix('error: ')} (see {log})"


def command(point: Point, row: Path) -> list[str]:
    """Return the command that measures a point, as the workflow's rule has it."""
    words = [f"--{name}={getattr(point, name)}" for name in (*IDENTITY, "fingerprint")]
    words += [*points.options(point), f"--timeout={point.timeout_s}"]
    words += [f"--output={row}", f"--served-for={os.getpid()}"]
    return [sys.executable, "-m", "measure", "point", *words]


if __name__ == "__main__":
    replace_missing_characters()
    sys.exit(main())
