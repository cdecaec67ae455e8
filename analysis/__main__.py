"""The command line: `python3 -m analysis <command> --help`.

A command imports what it needs when it runs, so that merging does not wait for seaborn.
"""

import argparse
import math
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from analysis import InputError, schema
from analysis.compare import Limits


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code, for bad input after one line that says why."""
    given = parser().parse_args(arguments)
    started = time.monotonic()
    try:
        done = given.run(given)
    except InputError as error:
        print(f"analysis {given.command}: error: {error}", file=sys.stderr)
        return 2 if given.command == "compare" else 1  # 1 of `compare`: a point became slower
    print(f"analysis {given.command}: {done} ({time.monotonic() - started:.1f} s)", file=sys.stderr)
    return given.code


def _percent(text: str) -> float:
    """Return a percentage as a fraction."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"{text} is not a percentage between 0 and 100")
    return value / 100


def _share(fraction: float, text: str) -> dict:
    text += f" (default: {100 * fraction:g} %%)"  # argparse formats it
    return {"default": fraction, "type": _percent, "metavar": "PERCENT", "help": text}


def _path(text: str, **more) -> dict:
    return {"type": Path, "help": text, **more}


# Argument -> the options of add_argument. An option is required, unless it has a default or an
# action, or a command names it in brackets.
RUN = "folder of row files (results/rows), results/measurements.csv, or recorded table"
MERGED = "merged rows of one GPU (written by `merge`)"
ARGUMENTS = {
    "files": _path("of one row", nargs="+", metavar="FILE"),
    "merged": _path(MERGED, nargs="*"),
    "--merged": _path(MERGED),
    "--rows": _path("folder of the row files, for their raw samples"),
    "--measurements": _path("merged rows of all GPUs (written by `collect`)"),
    "--published": _path("folder of the published tables and sources.yaml"),
    "--summary": _path("written by `summary`"),
    "--claims": _path("written by `claims`"),
    "--figures-dir": _path("folder of the figures to link"),
    "--recorded": _path(
        "recorded rows, data/recorded/{gpu}/{sweep}.csv; for a report their .yaml",
        **{"nargs": "*", "default": [], "metavar": "FILE"},
    ),
    "--expected": _path(
        "hashes of the current code (results/expected.csv); without it, none are compared",
        default=None,
    ),
    "--unranked-flags": {
        **{"nargs": "*", "default": schema.UNRANKED, "metavar": "FLAG", "choices": schema.flags()},
        "help": "flags that exclude a row from the ranking; without any, all rows rank "
        f"(default: {' '.join(schema.UNRANKED)})",
    },
    "--command": {
        "help": "the exact command that measures these rows, quoted in the output",
        **{"dest": "reproduce_with", "metavar": "COMMAND"},
    },
    "--gpu": {"help": "slug of the GPU, e.g. a100"},
    "--dtype": {"help": "element type, e.g. float32"},
    "--sweep": {"help": "name of the sweep, e.g. online_softmax"},
    "--output": _path("file to write; of `record` and `tuning` the folder"),
    "--output-dir": _path("folder to write the figures to; `compare` writes its Markdown, too"),
    "folders": _path("data/recorded/{gpu}", nargs="+"),
    "old": _path(f"{RUN}, to compare with", metavar="OLD"),
    "new": _path(f"{RUN}, to judge", metavar="NEW"),
    "--threshold": _share(Limits().threshold, "exit with 1 for a point slower by more"),
    "--margin": _share(Limits().margin, "a smaller difference counts as the same"),
    "--false-discoveries": _share(Limits().rate, "share of the changes that may be wrong"),
    "--allow": {"action": "store_true", "help": "compare although the conditions differ"},
}
TABLES = "--measurements", "--published"
SET = *TABLES, "--gpu", "--dtype", "--sweep", "--output-dir"
REPORT = (
    *(*TABLES, "--command", "--recorded", "--unranked-flags", "--output"),
    *("--summary", "--claims", "--figures-dir"),
)
_commands = []  # (function, its arguments)


def _command(*arguments: str):
    """Make a function a command; it returns what it did, and its docstring is the help."""

    def add(run):
        _commands.append((run, arguments))
        return run

    return add


def parser() -> ArgumentParser:
    """Return the parser of all commands."""
    root = ArgumentParser(prog="analysis", description="From rows to a report.")
    commands = root.add_subparsers(dest="command", required=True, metavar="command")
    for run, arguments in _commands:
        name = run.__name__.strip("_").replace("_", "-")
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.set_defaults(run=run, code=0)
        for argument in arguments:
            options = dict(ARGUMENTS[argument.strip("[]")])
            if argument.startswith("--") and not {"default", "action"} & set(options):
                options["required"] = True
            command.add_argument(argument.strip("[]"), **options)
    return root


@_command("files", "--sweep", "--output", "--expected")
def _merge(given: Namespace) -> str:
    """merge the row files of one sweep into one file"""
    from analysis.merge import merge_rows

    count = merge_rows(given.files, given.sweep, given.output, given.expected)
    return f"{count} rows to {given.output}"


@_command("merged", "--recorded", "--output", "--unranked-flags", "--expected")
def _collect(given: Namespace) -> str:
    """collect merged rows, and recorded rows of the other GPUs"""
    from analysis.merge import collect

    paths = given.merged, given.recorded, given.output
    return f"{collect(*paths, given.unranked_flags, given.expected)} rows to {given.output}"


@_command("--measurements", "--output")
def _summary(given: Namespace) -> str:
    """rank the variants at every point"""
    from analysis import frame, ranking

    ranking.write(frame.load(given.measurements), given.output)
    return str(given.output)


@_command(*TABLES, "--output")
def _claims(given: Namespace) -> str:
    """check every published claim"""
    from analysis import claims

    claims.write(*_tables(given), given.output)
    return str(given.output)


@_command(*SET)
def _figures(given: Namespace) -> str:
    """draw a set over N"""
    return _write_set(given)


@_command(*SET)
def _profile(given: Namespace) -> str:
    """draw the performance profile of a set"""
    return _write_set(given, kinds=["profile"])


@_command(*SET)
def _published(given: Namespace) -> str:
    """draw published times beside a set's"""
    return _write_set(given, kinds=["published"])


@_command(*TABLES, "--output-dir")
def _overview(given: Namespace) -> str:
    """draw the fraction of the copy bandwidth, of all sets"""
    from analysis.figures.write import write_overview

    return _named(write_overview(*_tables(given), given.output_dir))


@_command(*REPORT)
def _report(given: Namespace) -> str:
    """write the report in Markdown"""
    from analysis.report import document

    document.write(_inputs(given), given.figures_dir, given.output)
    return str(given.output)


@_command(*REPORT)
def _html(given: Namespace) -> str:
    """write the report as one page for a browser"""
    from analysis.html import document

    document.write(_inputs(given), given.figures_dir, given.output)
    return str(given.output)


@_command(
    *("old", "new", "--threshold", "--margin", "--false-discoveries", "--allow", "[--output-dir]")
)
def _compare(given: Namespace) -> str:
    """compare two runs; exit with 1 when a point broke or became slower, 2 for bad input"""
    from analysis import compare
    from analysis.figures import changes

    if given.threshold < given.margin:
        raise InputError(
            f"--threshold {100 * given.threshold:g} is less than --margin {100 * given.margin:g}: "
            "a difference within the margin counts as the same; give a smaller --margin as well"
        )
    limits = Limits(given.margin, given.threshold, given.false_discoveries)
    comparison = compare.compare(*map(compare.load, (given.old, given.new)), limits, given.allow)
    print(text := compare.document(comparison, limits, (given.old, given.new)), end="")
    if given.output_dir:
        changes.write(text, comparison.changes, limits, given.output_dir)
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


def _inputs(given: Namespace):
    from analysis import claims, ranking
    from analysis.report.document import Inputs

    measurements, published = _tables(given)
    summary, judged = ranking.read(given.summary), claims.read(given.claims)
    settings = given.reproduce_with, given.recorded, given.unranked_flags
    return Inputs(measurements, summary, judged, published, *settings)


def _write_set(given: Namespace, **kinds) -> str:
    from analysis.figures.write import write

    key = given.gpu, given.dtype, given.sweep
    return _named(write(*_tables(given), *key, given.output_dir, **kinds))


def _named(paths: list[Path]) -> str:
    return ", ".join(map(str, paths)) if len(paths) <= 3 else f"{len(paths)} files"


if __name__ == "__main__":
    sys.exit(main())
