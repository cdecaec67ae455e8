"""The command line: `python3 -m analysis <command> --help`."""

import argparse
import math
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from analysis import schema
from analysis.errors import InputError

# Of `compare`, in per cent. The margin is larger than what separates processes of the same code.
MARGIN, THRESHOLD, FALSE_DISCOVERIES = 1.0, 2.0, 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code, for bad input after one line that says why."""
    given = _parser().parse_args(arguments)
    started = time.monotonic()
    given.code = 0
    try:
        done = _run(given)
    except InputError as error:
        print(f"analysis {given.command}: error: {error}", file=sys.stderr)
        return 2 if given.command == "compare" else 1  # 1 of `compare`: a point became slower
    print(f"analysis {given.command}: {done} ({time.monotonic() - started:.1f} s)", file=sys.stderr)
    return given.code


def _run(given: Namespace) -> str:
    """Call the function of a command with its arguments, in their order; return what was done."""
    function, _, arguments = COMMANDS[given.command]
    if callable(function):
        return function(given)
    result = _imported(function)(*(_value(given, name) for name in arguments.split()))
    match result:
        case int():
            return f"{result} rows to {given.output}"
        case list():
            return ", ".join(map(str, result)) if len(result) <= 3 else f"{len(result)} files"
        case str():
            return result
    return str(given.output)


def _value(given: Namespace, name: str) -> object:
    dest = ARGUMENTS[name].get("dest", name.strip("-").replace("-", "_"))
    value = getattr(given, dest)
    return _imported(READERS[name])(value) if name in READERS else value


def _imported(name: str):
    """Return `module:function`, imported when it is called: merging must not wait for seaborn."""
    module, _, function = name.partition(":")
    return getattr(import_module(f"analysis.{module}"), function)


def _report(given: Namespace) -> str:
    inputs = _imported("report.document:Inputs")(*(_value(given, n) for n in INPUTS.split()))
    room = "report" if given.command == "report" else "html"
    _imported(f"{room}.document:write")(inputs, given.figures_dir, given.output)
    return str(given.output)


def _compare(given: Namespace) -> str:
    from analysis import compare

    if given.threshold < given.margin:
        raise InputError(
            f"--threshold {given.threshold:g} is less than --margin {given.margin:g}: a difference "
            "within the margin counts as the same; give a smaller --margin as well"
        )
    percentages = given.margin, given.threshold, given.false_discoveries
    limits = compare.Limits(*(each / 100 for each in percentages))
    old, new = map(compare.load, (given.old, given.new))
    found = compare.compare(old, new, limits, given.allow)
    print(text := compare.document(found, limits, (given.old, given.new)), end="")
    if given.output_dir:
        _imported("figures.changes:write")(text, found.changes, limits, given.output_dir)
    given.code = int(compare.failed(found.changes, limits).any())
    return compare.counts(found.changes)


def _percent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"{text} is not a percentage between 0 and 100")
    return value


def _path(text: str, **more) -> dict:
    return {"type": Path, "help": text} | more


def _percentage(default: float, text: str) -> dict:
    # argparse reads a bare % in a help text as a format.
    text += " (default: %(default)s %%)"
    return {"type": _percent, "metavar": "PERCENT", "default": default, "help": text}


_RUN = (
    "folder of cells (results/cells), results/measurements.csv, or recorded table "
    "(data/recorded/GPU/SWEEP.csv),"
)

# Every positional argument and option. An option without a default is required.
ARGUMENTS = {
    "cells": _path("one-row CSV file", nargs="+", metavar="CELL"),
    "merged": _path("merged rows of one GPU (written by `merge`)", nargs="*"),
    "folders": _path("data/recorded/{gpu}", nargs="+"),
    "old": _path(f"{_RUN} to compare with", metavar="OLD"),
    "new": _path(f"{_RUN} to judge", metavar="NEW"),
    "--measurements": _path("merged rows of all GPUs (written by `collect`)"),
    "--published": _path("folder of the published tables and sources.yaml"),
    "--summary": _path("written by `summary`"),
    "--claims": _path("written by `claims`"),
    "--figures-dir": _path("folder of the figures to link"),
    "--rows": _path("merged rows of one GPU (written by `merge`)"),
    "--cells": _path("folder of the cells, for their raw samples"),
    "--recorded": _path(
        "recorded rows, data/recorded/{gpu}/{sweep}.csv; for a report their .yaml",
        **{"nargs": "*", "default": [], "metavar": "FILE"},
    ),
    "--unranked-flags": {
        **{"nargs": "*", "default": schema.UNRANKED, "metavar": "FLAG"},
        "choices": schema.flags(),
        "help": "flags that exclude a row from the ranking; without any, all rows rank "
        f"(default: {' '.join(schema.UNRANKED)})",
    },
    "--expected": _path(
        "hashes of the current code (results/expected.csv); without it, none are compared",
        default=None,
    ),
    "--sweep": {"help": "name of the sweep, e.g. online_softmax"},
    "--gpu": {"help": "slug of the GPU, e.g. a100"},
    "--dtype": {"help": "element type, e.g. float32"},
    "--command": {
        **{"dest": "reproduce_with", "metavar": "COMMAND"},
        "help": "the exact command that measures these rows, quoted in the output",
    },
    "--output": _path("file to write; of `record` and `tuning` the folder"),
    "--output-dir": _path("folder to write the figures to"),
    "--keep": {
        "action": "store_true",
        "help": "keep the table's lines of sizes that were not measured now",
    },
    "--threshold": _percentage(
        THRESHOLD, "exit with 1 when a point takes longer by more than this"
    ),
    "--margin": _percentage(MARGIN, "a smaller difference counts as the same"),
    "--false-discoveries": _percentage(
        FALSE_DISCOVERIES,
        "the share of faster and slower points that may be wrong, corrected over all points",
    ),
    "--allow": {
        "action": "store_true",
        "help": "compare although board, driver, versions, input or measuring code differ; the "
        "output says what does",
    },
}
# How the file of an argument is read.
READERS = {
    "--measurements": "frame:load",
    "--published": "published:load",
    "--summary": "ranking:read",
    "--claims": "claims:read",
}
INPUTS = "--measurements --summary --claims --published --command --recorded --unranked-flags"
REPORT = f"{INPUTS} --figures-dir --output"
SET = "--measurements --published --gpu --dtype --sweep --output-dir"
COMPARED = (
    "compare two runs: at every point faster, slower, same or unclear; exit with 1 when a point "
    "broke or became slower by more than the threshold, 2 for bad input, else 0"
)

# name -> (function, help, arguments in the order in which the function takes them)
COMMANDS = {
    "merge": (
        *("merge:merge_cells", "merge the cells of one sweep into one file"),
        "cells --sweep --output --expected",
    ),
    "collect": (
        *("merge:collect", "collect merged rows, and recorded rows of the other GPUs"),
        "merged --recorded --output --unranked-flags --expected",
    ),
    "summary": ("ranking:write", "rank the variants at every point", "--measurements --output"),
    "claims": (
        *("claims:write", "check every published claim"),
        "--measurements --published --output",
    ),
    "figures": ("figures.write:write", "draw a set over N", SET),
    "published": ("figures.write:write_published", "draw published times beside a set's", SET),
    "overview": (
        *("figures.write:write_overview", "draw the fraction of the copy bandwidth, of all sets"),
        "--measurements --published --output-dir",
    ),
    "report": (_report, "write the report in Markdown", REPORT),
    "html": (_report, "write the report as one page for a browser", REPORT),
    "compare": (
        *(_compare, COMPARED),
        "old new --threshold --margin --false-discoveries --allow --output-dir",
    ),
    "record": (
        *("record:record", "keep rows and samples of a GPU as recorded data"),
        "--rows --cells --output --command",
    ),
    "check-recorded": ("record:check", "check recorded data before it is shared", "folders"),
    "tuning": (
        *("tuning:write", "choose the kernels of kernels/frontier from its tuning sweep"),
        "merged --output --command --keep",
    ),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="analysis", description="From rows to a report.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, (_, summary, arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        for argument in arguments.split():
            settings = ARGUMENTS[argument]
            optional = (name, argument) == ("compare", "--output-dir")
            if argument.startswith("--") and not {"default", "action"} & set(settings):
                settings = settings | {"required": not optional}
            command.add_argument(argument, **settings)
    return parser


if __name__ == "__main__":
    sys.exit(main())
