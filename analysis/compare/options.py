"""The options of `python3 -m analysis compare`, and what it does."""

import argparse
import math
from pathlib import Path

from analysis.errors import InputError

SUMMARY = "tell what became faster or slower between two runs"
ABOUT = (
    "A verdict per point between two runs: faster, slower, same or unclear. Exits with 1 when a "
    "point broke or became slower by more than the threshold, 2 for bad input, else 0."
)
# Larger than what separates two processes that run the same code, smaller than what people act on.
MARGIN, THRESHOLD = 1.0, 2.0  # per cent
RATE = 5.0  # per cent; the usual false-discovery rate


def add(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the options of `run`; bad input exits with 2 (1 says that something slowed)."""
    parser.description = ABOUT
    # argparse reads a bare % in a help text as a format.
    run_of = (
        "folder of cells (results/cells), results/measurements.csv with its cells beside it, or "
        "recorded table (data/recorded/GPU/SWEEP.csv),"
    )
    parser.add_argument("old", type=Path, metavar="OLD", help=f"{run_of} to compare with")
    parser.add_argument("new", type=Path, metavar="NEW", help=f"{run_of} to judge")
    percent = {"type": _percent, "metavar": "PERCENT"}
    parser.add_argument(
        "--threshold",
        default=THRESHOLD,
        help="exit with 1 when a point is slower, and takes longer by more than this; at least the "
        "margin (default: %(default)s %%)",
        **percent,
    )
    parser.add_argument(
        "--margin",
        default=MARGIN,
        help="a smaller difference counts as the same (default: %(default)s %%)",
        **percent,
    )
    parser.add_argument(
        "--false-discoveries",
        default=RATE,
        help="the share of faster and slower points that may be wrong, corrected over all points "
        "(default: %(default)s %%)",
        **percent,
    )
    parser.add_argument(
        "--allow",
        action="store_true",
        help="compare although GPU, driver, versions, input or measuring code differ; the output "
        "says what does",
    )
    parser.add_argument(
        "--output-dir", type=Path, help="folder for compare.md, compare.svg and compare.png"
    )
    parser.set_defaults(on_error=2)


def run(given: argparse.Namespace) -> str:
    """Print the comparison, write it where asked, and set `given.code` to the exit code.

    Raises InputError for runs that cannot be read or do not belong together.
    """
    from analysis.compare import document, match, runs, verdict, write

    if given.threshold < given.margin:
        raise InputError(
            f"--threshold {given.threshold:g} is less than --margin {given.margin:g}: a difference "
            "within the margin counts as the same; give a smaller --margin as well"
        )
    old, new = runs.load(given.old), runs.load(given.new)
    matched = match.match(old, new, given.allow)
    limits = verdict.Limits(
        given.margin / 100, given.threshold / 100, given.false_discoveries / 100
    )
    found = verdict.judge(matched, limits)
    print(text := document.document(found, matched, limits, (given.old, given.new)), end="")
    if given.output_dir:
        write.write(text, found, limits, given.output_dir)
    given.code = int(verdict.failed(found, limits).any())
    return document.counts(found)


def _percent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and 0 < value < 100):
        raise argparse.ArgumentTypeError(f"{text} is not a percentage between 0 and 100")
    return value
