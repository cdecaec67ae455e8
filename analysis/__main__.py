"""The command line: `python3 -m analysis <command> --help`.

A command imports what it needs when it runs, so that ranking does not wait for seaborn.
"""

import argparse
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from analysis import InputError
from analysis.arguments import ARGUMENTS

TABLES = ("--measurements", "--published")
COMMANDS = []  # of (function, names of its arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code, for bad input after one line that says why."""
    given = parser().parse_args(arguments)
    started = time.monotonic()
    try:
        done = given.run(given) or given.output
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if given.command == "compare" else 1  # 1 of `compare`: a point became slower
    print(f"analysis {given.command}: {done} ({time.monotonic() - started:.1f} s)", file=sys.stderr)
    return given.code


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    root = argparse.ArgumentParser(prog="analysis", description="From rows to a report.")
    commands = root.add_subparsers(dest="command", required=True, metavar="command")
    for run, arguments in COMMANDS:
        name = run.__name__.strip("_").replace("_", "-")
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.set_defaults(run=run, code=0)
        for argument in arguments:
            name = argument.strip("[]")
            options = {"required": name == argument} if name.startswith("--") else {}
            command.add_argument(name, **options, **ARGUMENTS[name])
    return root


def _command(*arguments: str):
    """Register a function as a command with these arguments; brackets mark the optional ones."""

    def register(run: Callable[[Namespace], str | None]):
        COMMANDS.append((run, arguments))
        return run

    return register


@_command("merged", "[--recorded]", "--output", "[--unranked-flags]")
def _collect(given: Namespace) -> str:
    """collect merged rows, and recorded rows of the other GPUs"""
    from analysis.merge import collect

    count = collect(given.merged, given.recorded, given.output, given.unranked_flags)
    return f"{count} rows to {given.output}"


@_command("--measurements", "--output")
def _summary(given: Namespace) -> None:
    """rank the variants at every point"""
    from analysis import frame, ranking

    ranking.write(frame.load(given.measurements), given.output)


@_command(*TABLES, "--output")
def _claims(given: Namespace) -> None:
    """check every published claim"""
    from analysis import claims

    claims.write(*_tables(given), given.output)


@_command(*TABLES, "[--gpu]", "--output-dir")
def _figures(given: Namespace) -> str:
    """draw every figure of a GPU"""
    from analysis.figures import write

    if given.gpu:
        return _named(write.write_gpu(*_tables(given), given.gpu, given.output_dir))
    return _named(write.write_shared(*_tables(given), given.output_dir))


@_command(
    *(*TABLES, "--claims", "--figures-dir", "--command", "[--recorded]", "[--unranked-flags]"),
    "--output-dir",
)
def _report(given: Namespace) -> str:
    """write report.md, report.html, and the tables behind them"""
    from analysis import claims
    from analysis.report import model, write

    measurements, published = _tables(given)
    settings = given.reproduce_with, given.recorded, given.unranked_flags
    inputs = model.Inputs(measurements, claims.read(given.claims), published, *settings)
    return _named(write.write(inputs, given.figures_dir, given.output_dir))


@_command(
    *("old", "new", "[--unranked-flags]", "[--threshold]", "[--margin]"),
    *("[--false-discoveries]", "[--allow]", "[--output-dir]"),
)
def _compare(given: Namespace) -> str:
    """compare two runs; exit with 1 when a point broke or became slower, 2 for bad input"""
    from analysis import compare
    from analysis.figures import heatmap

    if given.threshold < given.margin:
        raise InputError(
            f"--threshold {100 * given.threshold:g} is less than --margin {100 * given.margin:g}: "
            "a difference within the margin counts as the same; give a smaller --margin as well"
        )
    limits = compare.Limits(given.margin, given.threshold, given.false_discoveries)
    runs = (compare.load_run(path, given.unranked_flags) for path in (given.old, given.new))
    comparison = compare.compare(*runs, limits, given.allow)
    print(text := compare.document(comparison, limits, (given.old, given.new)), end="")
    if given.output_dir:
        heatmap.write_changes(text, comparison.changes, limits, given.output_dir)
    given.code = int(compare.failed(comparison.changes, limits).any())
    return compare.counts(comparison.changes)


@_command("--merged", "--rows", "--output", "--command")
def _record(given: Namespace) -> str:
    """keep rows and samples of a GPU as recorded data"""
    from analysis.record import record

    return _named(record(given.merged, given.rows, given.output, given.reproduce_with))


@_command("folders")
def _check_recorded(given: Namespace) -> str:
    """check recorded data before it is shared"""
    from analysis.record import check

    return check(given.folders)


@_command("merged", "--output", "--command")
def _tuning(given: Namespace) -> str:
    """choose the kernels of kernels/frontier from its tuning sweep"""
    from analysis import tuning

    return _named(tuning.write(given.merged, given.output, given.reproduce_with))


def _tables(given: Namespace) -> tuple:
    from analysis import frame, published

    return frame.load(given.measurements), published.load(given.published)


def _named(paths: list[Path]) -> str:
    return ", ".join(map(str, paths)) if len(paths) <= 3 else f"{len(paths)} files"


if __name__ == "__main__":
    sys.exit(main())
