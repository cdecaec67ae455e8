"""The command line: `python3 -m analysis <command> --help`.

A command imports what it needs when it runs, so that ranking does not wait for seaborn.
"""

import argparse
import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from analysis import InputError, exit_codes
from analysis.compare import Limits
from kernels.terminal import replace_missing_characters


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code, for bad input after one line that says why."""
    options = parser().parse_args(arguments)
    started = time.monotonic()
    try:
        done = options.run(options) or options.output
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return exit_codes.BAD_INPUT
    seconds = time.monotonic() - started
    print(f"analysis {options.command}: {done} ({seconds:.1f} s)", file=sys.stderr)
    return options.code


def parser() -> ArgumentParser:
    """Return the parser of all commands."""
    root = ArgumentParser(prog="python -m analysis", description="Turn rows into a report.")
    commands = root.add_subparsers(dest="command", required=True, metavar="command")

    def add(run: Callable[[Namespace], str | None], *shared: ArgumentParser) -> Callable:
        name, text = run.__name__.strip("_").replace("_", "-"), run.__doc__
        command = commands.add_parser(name, help=text, description=text, parents=shared)
        command.set_defaults(run=run, code=exit_codes.DONE)
        return command.add_argument

    merged = _shared(
        "merged", nargs="*", help="merged rows of each GPU, results/measurements/{gpu}.csv"
    )
    rows = _shared("--measurements", required=True, help="merged rows of all GPUs, of `collect`")
    published = _shared("--published", required=True, help="sources.yaml, beside its tables")
    output = _shared("--output", required=True, help="file to write")
    folder = _shared("--output-dir", required=True, help="folder to write to")
    recorded = _shared("--recorded", nargs="*", default=[], metavar="FILE", help=RECORDED)

    argument = add(_merge, output)
    argument("--sweep", required=True, help="name of the sweep, for the column `sweep`")
    add(_collect, merged, recorded, output)
    add(_summary, rows, output)
    add(_claims, rows, published, output)
    argument = add(_figures, rows, published, folder)
    argument("--gpu", required=True, help="short name; `all`: the figures that no GPU owns")
    argument = add(_report, rows, published, recorded, folder)
    text = "the exact command that made the rows, quoted in the report"
    argument("--command", required=True, dest="repeat", metavar="COMMAND", help=text)
    text = "shapes with a name as JSON: a list of [name, op, dtype, M, N]"
    argument("--workloads", type=json.loads, default=[], metavar="JSON", help=text)
    argument("--claims", type=Path, required=True, help="file that `claims` wrote")
    argument = add(_compare)
    argument("old", type=Path, metavar="OLD", help=f"{RUN}, to compare with")
    argument("new", type=Path, metavar="NEW", help=f"{RUN}, to judge")
    limit, limits = {"type": _percent, "metavar": "PERCENT"}, Limits()
    for name, default, text in (
        ("--threshold", limits.threshold, "exit with 3 for a point slower by more"),
        ("--margin", limits.margin, "a smaller difference counts as the same"),
        ("--false-discoveries", limits.rate, "share of the changes that may be wrong"),
    ):  # argparse formats the %%
        argument(name, **limit, default=default, help=f"{text} (default: {100 * default:g} %%)")
    argument("--allow", action="store_true", help="compare although the conditions differ")
    argument = add(_check_recorded)
    argument("folders", type=Path, nargs="+", help="data/recorded/{gpu}")
    return root


RECORDED = "recorded rows, data/recorded/{gpu}/{sweep}.csv; for a report their .yaml"
RUN = "folder of row files (results/rows), results/measurements.csv, or recorded table"


def _shared(name: str, **options) -> ArgumentParser:
    """Return a parent of the commands that have this argument, by default a path."""
    parent = ArgumentParser(add_help=False)
    parent.add_argument(name, **{"type": Path} | options)
    return parent


def _percent(text: str) -> float:
    """Return a percentage as a fraction."""
    try:
        value = float(text) / 100
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a percentage between 0 and 100")
    return value


def _merge(options: Namespace) -> str:
    """merge the rows of the files that standard input names, one a line"""
    from analysis.merge import merge_rows

    paths = sorted(map(Path, sys.stdin.read().splitlines()))
    return f"{merge_rows(paths, options.sweep, options.output)} rows to {options.output}"


def _collect(options: Namespace) -> str:
    """collect merged rows, and recorded rows of the other GPUs"""
    from analysis.merge import collect

    count = collect(options.merged, options.recorded, options.output)
    return f"{count} rows to {options.output}"


def _summary(options: Namespace) -> None:
    """rank the variants at every point"""
    from analysis import frame, ranking

    ranking.write(frame.load(options.measurements), options.output)


def _claims(options: Namespace) -> None:
    """check every published claim"""
    from analysis import claims, frame

    frame.write(options.output, claims.check(*_tables(options)))


def _figures(options: Namespace) -> str:
    """draw every figure of a GPU"""
    from analysis.figures.write import write

    count = len(write(*_tables(options), options.gpu, options.output_dir))
    return f"{count} files to {options.output_dir / options.gpu}"


def _report(options: Namespace) -> str:
    """write report.md, report.html, and the tables behind them"""
    from analysis import claims
    from analysis.report.write import write

    measurements, published = _tables(options)
    written = write(
        measurements,
        claims.read(options.claims),
        published,
        folder=options.output_dir,
        command=options.repeat,
        recorded=options.recorded,
        workloads=options.workloads,
    )
    return ", ".join(map(str, written))


def _compare(options: Namespace) -> str:
    """compare two runs; exit with 3 when a point became slower, 4 when one broke, a changed \
kernel was not compared or a new one not timed, 2 for bad input"""
    from analysis import compare

    if options.threshold < options.margin:
        raise InputError(
            f"--threshold {100 * options.threshold:g} is less than "
            f"--margin {100 * options.margin:g}: "
            "a difference within the margin counts as the same; give a smaller --margin as well"
        )
    limits = compare.Limits(options.margin, options.threshold, options.false_discoveries)
    runs = map(compare.load_run, (options.old, options.new))
    comparison = compare.compare(*runs, limits, options.allow)
    print(compare.to_markdown(comparison, limits, (options.old, options.new)), end="")
    options.code, _ = compare.verdict(comparison)
    return compare.counts(comparison.changes)


def _check_recorded(options: Namespace) -> str:
    """check recorded data before it is shared"""
    from analysis.recorded import check_folders

    return check_folders(options.folders)


def _tables(options: Namespace) -> tuple:
    from analysis import frame, published

    return frame.load(options.measurements), published.load(options.published.parent)


if __name__ == "__main__":
    replace_missing_characters()
    sys.exit(main())
