"""The command line: `python3 -m analysis <command> --help`.

A command imports what it needs when it runs: merging must not wait for seaborn.
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
    given = PARSER.parse_args(arguments)
    started = time.monotonic()
    try:
        done = given.run(given)
    except InputError as error:
        print(f"analysis {given.command}: error: {error}", file=sys.stderr)
        return 2 if given.command == "compare" else 1  # 1 of `compare`: a point became slower
    print(f"analysis {given.command}: {done} ({time.monotonic() - started:.1f} s)", file=sys.stderr)
    return given.code


PARSER = ArgumentParser(prog="analysis", description="From rows to a report.")
_commands = PARSER.add_subparsers(dest="command", required=True, metavar="command")


def _command(*arguments: ArgumentParser):
    """Make a function a command; it returns what it did, and its docstring is the help."""

    def add(run):
        name, text = run.__name__.strip("_").replace("_", "-"), run.__doc__
        parser = _commands.add_parser(name, help=text, description=text, parents=arguments)
        parser.set_defaults(run=run, code=0)
        return run

    return add


def _argument(name: str, text: str, **more) -> ArgumentParser:
    parser = ArgumentParser(add_help=False)
    if name.startswith("--") and not {"default", "action"} & set(more):
        more["required"] = True
    parser.add_argument(name, help=text, **more)
    return parser


def _path(name: str, text: str, **more) -> ArgumentParser:
    return _argument(name, text, type=Path, **more)


def _percentage(name: str, share: float, text: str) -> ArgumentParser:
    text += " (default: %(default)g %%)"  # argparse formats it
    return _argument(name, text, default=100 * share, type=_percent, metavar="PERCENT")


def _percent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"{text} is not a percentage between 0 and 100")
    return value


# Arguments of several commands.
MERGED = _path("merged", "merged rows of one GPU (written by `merge`)", nargs="*")
MEASUREMENTS = _path("--measurements", "merged rows of all GPUs (written by `collect`)")
PUBLISHED = _path("--published", "folder of the published tables and sources.yaml")
RECORDED = _path(
    "--recorded",
    "recorded rows, data/recorded/{gpu}/{sweep}.csv; for a report their .yaml",
    **{"nargs": "*", "default": [], "metavar": "FILE"},
)
EXPECTED = _path(
    "--expected",
    "hashes of the current code (results/expected.csv); without it, none are compared",
    default=None,
)
UNRANKED = _argument(
    "--unranked-flags",
    "flags that exclude a row from the ranking; without any, all rows rank "
    f"(default: {' '.join(schema.UNRANKED)})",
    **{"nargs": "*", "default": schema.UNRANKED, "metavar": "FLAG", "choices": schema.flags()},
)
REPRODUCE_WITH = _argument(
    "--command",
    "the exact command that measures these rows, quoted in the output",
    **{"dest": "reproduce_with", "metavar": "COMMAND"},
)
SWEEP = _argument("--sweep", "name of the sweep, e.g. online_softmax")
OUTPUT = _path("--output", "file to write; of `record` and `tuning` the folder")
OUTPUT_DIR = _path("--output-dir", "folder to write the figures to")
TABLES = MEASUREMENTS, PUBLISHED
SET = (
    *TABLES,
    _argument("--gpu", "slug of the GPU, e.g. a100"),
    _argument("--dtype", "element type, e.g. float32"),
    *(SWEEP, OUTPUT_DIR),
)
REPORT = (
    *(*TABLES, REPRODUCE_WITH, RECORDED, UNRANKED, OUTPUT),
    _path("--summary", "written by `summary`"),
    _path("--claims", "written by `claims`"),
    _path("--figures-dir", "folder of the figures to link"),
)
RUN = "folder of row files (results/rows), results/measurements.csv, or recorded table"


@_command(_path("files", "of one row", nargs="+", metavar="FILE"), SWEEP, OUTPUT, EXPECTED)
def _merge(given: Namespace) -> str:
    """merge the row files of one sweep into one file"""
    from analysis.merge import merge_rows

    count = merge_rows(given.files, given.sweep, given.output, given.expected)
    return f"{count} rows to {given.output}"


@_command(MERGED, RECORDED, OUTPUT, UNRANKED, EXPECTED)
def _collect(given: Namespace) -> str:
    """collect merged rows, and recorded rows of the other GPUs"""
    from analysis.merge import collect

    paths = given.merged, given.recorded, given.output
    return f"{collect(*paths, given.unranked_flags, given.expected)} rows to {given.output}"


@_command(MEASUREMENTS, OUTPUT)
def _summary(given: Namespace) -> str:
    """rank the variants at every point"""
    from analysis import frame, ranking

    ranking.write(frame.load(given.measurements), given.output)
    return str(given.output)


@_command(*TABLES, OUTPUT)
def _claims(given: Namespace) -> str:
    """check every published claim"""
    from analysis import claims

    claims.write(*_tables(given), given.output)
    return str(given.output)


@_command(*SET)
def _figures(given: Namespace) -> str:
    """draw a set over N"""
    from analysis.figures.write import write

    return _named(write(*_tables(given), given.gpu, given.dtype, given.sweep, given.output_dir))


@_command(*SET)
def _published(given: Namespace) -> str:
    """draw published times beside a set's"""
    from analysis.figures.write import write_published

    key = given.gpu, given.dtype, given.sweep
    return _named(write_published(*_tables(given), *key, given.output_dir))


@_command(*TABLES, OUTPUT_DIR)
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
    _path("old", f"{RUN}, to compare with", metavar="OLD"),
    _path("new", f"{RUN}, to judge", metavar="NEW"),
    _percentage("--threshold", Limits().threshold, "exit with 1 for a point slower by more"),
    _percentage("--margin", Limits().margin, "a smaller difference counts as the same"),
    _percentage("--false-discoveries", Limits().rate, "share of the changes that may be wrong"),
    _argument("--allow", "compare although the conditions differ", action="store_true"),
    _path("--output-dir", "folder for the comparison as a file and a figure", default=None),
)
def _compare(given: Namespace) -> str:
    """compare two runs; exit with 1 when a point broke or became slower, 2 for bad input"""
    from analysis import compare
    from analysis.figures import changes

    if given.threshold < given.margin:
        raise InputError(
            f"--threshold {given.threshold:g} is less than --margin {given.margin:g}: a difference "
            "within the margin counts as the same; give a smaller --margin as well"
        )
    percentages = given.margin, given.threshold, given.false_discoveries
    limits = Limits(*(each / 100 for each in percentages))
    old, new = map(compare.load, (given.old, given.new))
    found = compare.compare(old, new, limits, given.allow)
    print(text := compare.document(found, limits, (given.old, given.new)), end="")
    if given.output_dir:
        changes.write(text, found.changes, limits, given.output_dir)
    given.code = int(compare.failed(found.changes, limits).any())
    return compare.counts(found.changes)


@_command(
    _path("--merged", "merged rows of one GPU (written by `merge`)"),
    _path("--rows", "folder of the row files, for their raw samples"),
    *(OUTPUT, REPRODUCE_WITH),
)
def _record(given: Namespace) -> str:
    """keep rows and samples of a GPU as recorded data"""
    from analysis.record import record

    return _named(record(given.merged, given.rows, given.output, given.reproduce_with))


@_command(_path("folders", "data/recorded/{gpu}", nargs="+"))
def _check_recorded(given: Namespace) -> str:
    """check recorded data before it is shared"""
    from analysis.record import check

    return check(given.folders)


@_command(MERGED, OUTPUT, REPRODUCE_WITH)
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
    read = ranking.read(given.summary), claims.read(given.claims)
    settings = given.reproduce_with, given.recorded, given.unranked_flags
    return Inputs(measurements, *read, published, *settings)


def _named(paths: list[Path]) -> str:
    return ", ".join(map(str, paths)) if len(paths) <= 3 else f"{len(paths)} files"


if __name__ == "__main__":
    sys.exit(main())
