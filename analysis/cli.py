"""The command line: `python3 -m analysis <command> --help`."""

import argparse
import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from analysis import flags
from analysis.compare import options as compare
from analysis.errors import InputError

# Each command imports what it needs when it runs: merging rows must not wait for seaborn.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code, for bad input after one line that says why."""
    given = _parser().parse_args(arguments)
    started = time.monotonic()
    try:
        done = given.run(given)
    except InputError as error:
        print(f"analysis {given.command}: error: {error}", file=sys.stderr)
        return given.on_error
    print(f"analysis {given.command}: {done} ({time.monotonic() - started:.1f} s)", file=sys.stderr)
    return given.code


def _merge(given: argparse.Namespace) -> str:
    from analysis.merge import merge_cells

    count = merge_cells(given.cells, given.sweep, given.output, given.expected)
    return f"{count} rows to {given.output}"


def _collect(given: argparse.Namespace) -> str:
    from analysis.collect import collect

    count = collect(
        given.merged, given.recorded, given.output, given.unranked_flags, given.expected
    )
    return f"{count} rows to {given.output}"


def _summary(given: argparse.Namespace) -> str:
    from analysis import frame, summary

    summary.write(frame.load(given.measurements), given.output)
    return str(given.output)


def _claims(given: argparse.Namespace) -> str:
    from analysis import claims, frame, published

    claims.write(frame.load(given.measurements), published.load(given.published), given.output)
    return str(given.output)


def _figures(given: argparse.Namespace) -> str:
    from analysis import figures, frame, published

    rows, tables = frame.load(given.measurements), published.load(given.published)
    set_ = (given.gpu, given.dtype, given.sweep)
    kinds = figures.BARS if given.command == "bars" else figures.OVER_N
    return f"{len(figures.write(rows, tables, *set_, given.output_dir, kinds))} files"


def _overview(given: argparse.Namespace) -> str:
    from analysis import figures, frame, published

    rows, tables = frame.load(given.measurements), published.load(given.published)
    return f"{len(figures.write_overview(rows, tables, given.output_dir))} files"


def _report(given: argparse.Namespace) -> str:
    """Either report: in Markdown, which links figures, or as a page, which draws its own."""
    from analysis import claims, frame, published, summary

    links = [given.figures_dir] if given.command == "report" else []
    importlib.import_module(f"analysis.{given.command}").write(
        frame.load(given.measurements),
        summary.read(given.summary),
        claims.read(given.claims),
        published.load(given.published),
        *links,
        given.reproduce_with,
        given.output,
        given.recorded,
        given.unranked_flags,
    )
    return str(given.output)


def _record(given: argparse.Namespace) -> str:
    from analysis.record import record

    written = record(given.rows, given.cells, given.output, given.reproduce_with)
    return ", ".join(str(path) for path in written)


def _check_recorded(given: argparse.Namespace) -> str:
    from analysis.check_recorded import check

    return check(given.folders)


def _tuning(given: argparse.Namespace) -> str:
    from analysis import tuning

    written = tuning.write(given.merged, given.output, given.reproduce_with, given.keep)
    return ", ".join(str(path) for path in written)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="analysis", description="From rows to a report.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def command(name: str, run, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        added.set_defaults(run=run, code=0, on_error=1)
        return added

    def path(to: argparse.ArgumentParser, name: str, text: str, **more) -> None:
        to.add_argument(name, type=Path, help=text, **({"required": True} | more))

    def text(to: argparse.ArgumentParser, name: str, words: str, **more) -> None:
        to.add_argument(name, required=True, help=words, **more)

    def unranked(to: argparse.ArgumentParser, words: str) -> None:
        more = {"nargs": "*", "default": flags.UNRANKED, "metavar": "FLAG", "type": flags.named}
        words += f"; without any, all rows rank (default: {' '.join(flags.UNRANKED)})"
        to.add_argument("--unranked-flags", help=words, **more)

    rows = "merged rows of all GPUs (written by `collect`)"
    tables = "folder of the published tables and sources.yaml"
    some = {"nargs": "*", "default": [], "metavar": "FILE", "required": False}
    one = {"required": False, "metavar": "FILE"}
    expected = "hashes of the current code, results/expected.csv; without it, none are compared"
    exact = "the exact command that measures these rows, quoted in the output"

    merge = command("merge", _merge, "the cells of one sweep become one file")
    text(merge, "--sweep", "name of the sweep, written into every row")
    path(merge, "--output", "file to write, e.g. results/measurements/{gpu}.csv")
    path(merge, "--expected", expected, **one)
    merge.add_argument("cells", nargs="+", type=Path, metavar="CELL", help="one-row CSV file")

    collect = command("collect", _collect, "merged rows, and recorded rows of the other GPUs")
    path(collect, "--recorded", "recorded rows, data/recorded/{gpu}/{sweep}.csv", **some)
    unranked(collect, "rows that carry one of these do not rank")
    path(collect, "--expected", expected, **one)
    path(collect, "--output", "file to write, e.g. results/measurements.csv")
    collect.add_argument("merged", nargs="*", type=Path, metavar="MERGED", help="from `merge`")

    summary = command("summary", _summary, "rank the variants at every point")
    path(summary, "--measurements", rows)
    path(summary, "--output", "file to write, e.g. results/summary.csv")

    claims = command("claims", _claims, "check every published claim")
    path(claims, "--measurements", rows)
    path(claims, "--published", tables)
    path(claims, "--output", "file to write, e.g. results/claims.csv")

    over_n, bars = "draw a set over N", "draw published times beside a set's"
    for name, words in (("figures", over_n), ("bars", bars)):
        figures = command(name, _figures, words)
        path(figures, "--measurements", rows)
        path(figures, "--published", tables)
        text(figures, "--gpu", "slug of the GPU, e.g. a100")
        text(figures, "--dtype", "element type, e.g. float32")
        text(figures, "--sweep", "name of the sweep, e.g. online_softmax")
        path(figures, "--output-dir", "folder for {gpu}_{dtype}_{sweep}_{kind}.svg, .pdf, .png")

    overview = command("overview", _overview, "draw the fraction of the copy, of all sets")
    path(overview, "--measurements", rows)
    path(overview, "--published", tables)
    path(overview, "--output-dir", "folder for overview.svg, .pdf, .png")

    told = "what made the recorded rows, data/recorded/{gpu}/{sweep}.yaml"
    for name, words, suffix in (
        ("report", "write the report in Markdown", "md"),
        ("html", "write the report as one page for a browser", "html"),
    ):
        report = command(name, _report, words)
        path(report, "--measurements", rows)
        path(report, "--summary", "written by `summary`")
        path(report, "--claims", "written by `claims`")
        if name == "report":
            path(report, "--figures-dir", "folder of the figures to link")
        path(report, "--published", tables)
        text(report, "--command", exact, dest="reproduce_with", metavar="COMMAND")
        path(report, "--recorded", told, **some)
        unranked(report, "what was given to `collect`, for the report to say so")
        path(report, "--output", f"file to write, e.g. results/report.{suffix}")

    compare.add(command("compare", compare.run, compare.SUMMARY))
    record = command("record", _record, "keep rows and samples of a GPU as recorded data")
    path(record, "--rows", "merged rows of one GPU (written by `merge`)")
    path(record, "--cells", "folder of the cells, for their raw samples")
    text(record, "--command", exact, dest="reproduce_with", metavar="COMMAND")
    path(record, "--output", "folder to write, data/recorded/{gpu}")

    check = command("check-recorded", _check_recorded, "is recorded data fit to be shared?")
    check.add_argument("folders", nargs="+", type=Path, help="data/recorded/{gpu}")

    tuning = command(
        "tuning", _tuning, "what kernels/frontier/frontier.py chooses, from its tuning sweep"
    )
    text(tuning, "--command", exact, dest="reproduce_with", metavar="COMMAND")
    path(tuning, "--output", "folder to write, kernels/frontier/tuning")
    tuning.add_argument(
        "--keep",
        action="store_true",
        help="keep the table's lines of sizes that were not measured now",
    )
    tuning.add_argument("merged", nargs="+", type=Path, metavar="MERGED", help="from `merge`")
    return parser
