"""The command line: `python3 -m analysis <command> --help`.

A command imports what it needs when it runs, so that merging does not wait for seaborn.
"""

import argparse
import math
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
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


def parser() -> ArgumentParser:
    """Return the parser of all commands."""
    root = ArgumentParser(prog="analysis", description="From rows to a report.")
    commands = root.add_subparsers(dest="command", required=True, metavar="command")

    def add(run: Callable[[Namespace], str], *parents: ArgumentParser) -> ArgumentParser:
        name = run.__name__.strip("_").replace("_", "-")
        text = run.__doc__
        command = commands.add_parser(name, help=text, description=text, parents=parents)
        command.set_defaults(run=run, code=0)
        return command

    measurements = _file("--measurements", "merged rows of all GPUs (written by `collect`)")
    published = _file("--published", "folder of the published tables and sources.yaml")
    tables = measurements, published
    output = _file("--output", "file to write; of `record` and `tuning` the folder")
    output_dir = _file("--output-dir", "folder to write the figures to")
    merged = _file("merged", "merged rows of one GPU (written by `merge`)", nargs="*")
    recorded = "recorded rows, data/recorded/{gpu}/{sweep}.csv; for a report their .yaml"
    recorded = _file("--recorded", recorded, nargs="*", default=[], metavar="FILE")
    expected = "hashes of the current code (results/expected.csv); without it, none are compared"
    expected = _file("--expected", expected, default=None)
    unranked = _shared(
        "--unranked-flags",
        "flags that exclude a row from the ranking; without any, all rows rank "
        f"(default: {' '.join(schema.UNRANKED)})",
        **{"nargs": "*", "default": schema.UNRANKED, "metavar": "FLAG", "choices": schema.flags()},
    )
    command = "the exact command that measures these rows, quoted in the output"
    command = _shared("--command", command, dest="reproduce_with", metavar="COMMAND")
    sweep = _shared("--sweep", "name of the sweep, e.g. online_softmax")
    gpu = "slug of the GPU, e.g. a100; without it, the figures that no GPU owns are drawn"
    gpu = _shared("--gpu", gpu, default="")
    of_report = (
        *tables,
        command,
        recorded,
        unranked,
        output,
        _file("--summary", "written by `summary`"),
        _file("--claims", "written by `claims`"),
        _file("--figures-dir", "folder of the figures to link"),
    )
    add(_merge, _file("files", "of one row", nargs="+", metavar="FILE"), sweep, output, expected)
    add(_collect, merged, recorded, output, unranked, expected)
    add(_summary, measurements, output)
    add(_claims, *tables, output)
    add(_figures, *tables, gpu, output_dir)
    add(_report, *of_report)
    add(_html, *of_report)
    compare = add(_compare, unranked)
    run = "folder of row files (results/rows), results/measurements.csv, or recorded table"
    compare.add_argument("old", type=Path, metavar="OLD", help=f"{run}, to compare with")
    compare.add_argument("new", type=Path, metavar="NEW", help=f"{run}, to judge")
    for name, default, text in (
        ("threshold", Limits().threshold, "exit with 1 for a point slower by more"),
        ("margin", Limits().margin, "a smaller difference counts as the same"),
        ("false-discoveries", Limits().rate, "share of the changes that may be wrong"),
    ):
        text += f" (default: {100 * default:g} %%)"  # argparse formats it
        options = {"type": _percent, "metavar": "PERCENT", "help": text}
        compare.add_argument(f"--{name}", default=default, **options)
    text = "compare although the conditions differ"
    compare.add_argument("--allow", action="store_true", help=text)
    text = "folder to write the Markdown and the figure to"
    compare.add_argument("--output-dir", type=Path, help=text)
    one = _file("--merged", "merged rows of one GPU (written by `merge`)")
    add(_record, one, _file("--rows", "folder of the row files with samples"), output, command)
    add(_check_recorded, _file("folders", "data/recorded/{gpu}", nargs="+"))
    add(_tuning, merged, output, command)
    return root


def _shared(name: str, text: str, **options) -> ArgumentParser:
    """Return a parent of commands with one argument; an option without a default is required."""
    if name.startswith("--"):
        options.setdefault("required", "default" not in options)
    parent = ArgumentParser(add_help=False)
    parent.add_argument(name, help=text, **options)
    return parent


def _file(name: str, text: str, **options) -> ArgumentParser:
    return _shared(name, text, type=Path, **options)


def _merge(given: Namespace) -> str:
    """merge the row files of one sweep into one file"""
    from analysis.merge import merge_rows

    count = merge_rows(given.files, given.sweep, given.output, given.expected)
    return f"{count} rows to {given.output}"


def _collect(given: Namespace) -> str:
    """collect merged rows, and recorded rows of the other GPUs"""
    from analysis.merge import collect

    paths = given.merged, given.recorded, given.output
    return f"{collect(*paths, given.unranked_flags, given.expected)} rows to {given.output}"


def _summary(given: Namespace) -> str:
    """rank the variants at every point"""
    from analysis import frame, ranking

    ranking.write(frame.load(given.measurements), given.output)
    return str(given.output)


def _claims(given: Namespace) -> str:
    """check every published claim"""
    from analysis import claims

    claims.write(*_tables(given), given.output)
    return str(given.output)


def _figures(given: Namespace) -> str:
    """draw every figure of a GPU"""
    from analysis.figures import write

    if given.gpu:
        return _named(write.write_gpu(*_tables(given), given.gpu, given.output_dir))
    return _named(write.write_shared(*_tables(given), given.output_dir))


def _report(given: Namespace) -> str:
    """write the report in Markdown"""
    from analysis.report import document

    document.write(_inputs(given), given.figures_dir, given.output)
    return str(given.output)


def _html(given: Namespace) -> str:
    """write the report as one page for a browser"""
    from analysis.html import document

    document.write(_inputs(given), given.figures_dir, given.output)
    return str(given.output)


def _compare(given: Namespace) -> str:
    """compare two runs; exit with 1 when a point broke or became slower, 2 for bad input"""
    from analysis import compare
    from analysis.figures import heatmap

    if given.threshold < given.margin:
        raise InputError(
            f"--threshold {100 * given.threshold:g} is less than --margin {100 * given.margin:g}: "
            "a difference within the margin counts as the same; give a smaller --margin as well"
        )
    limits = Limits(given.margin, given.threshold, given.false_discoveries)
    runs = (compare.load(path, given.unranked_flags) for path in (given.old, given.new))
    comparison = compare.compare(*runs, limits, given.allow)
    print(text := compare.document(comparison, limits, (given.old, given.new)), end="")
    if given.output_dir:
        heatmap.write_changes(text, comparison.changes, limits, given.output_dir)
    given.code = int(compare.failed(comparison.changes, limits).any())
    return compare.counts(comparison.changes)


def _record(given: Namespace) -> str:
    """keep rows and samples of a GPU as recorded data"""
    from analysis.record import record

    return _named(record(given.merged, given.rows, given.output, given.reproduce_with))


def _check_recorded(given: Namespace) -> str:
    """check recorded data before it is shared"""
    from analysis.record import check

    return check(given.folders)


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


def _named(paths: list[Path]) -> str:
    return ", ".join(map(str, paths)) if len(paths) <= 3 else f"{len(paths)} files"


if __name__ == "__main__":
    sys.exit(main())
