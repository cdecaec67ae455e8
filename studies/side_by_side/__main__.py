"""``python -m studies.side_by_side measure | draw | table``."""

import argparse
import signal
import sys
from pathlib import Path

# Each command imports what it needs when it runs: measuring knows no pandas, drawing no torch.


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m studies.side_by_side", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    data = {"type": Path, "required": True, "help": "side_by_side.csv, written by `measure`"}

    measure = commands.add_parser("measure", help="time the points with every tool, on a GPU")
    measure.set_defaults(run=_measure)
    add = measure.add_argument
    add("--output", type=Path, required=True, help="folder; what it holds is not measured again")
    add("--processes", type=int, default=5, help="of each tool (default %(default)s)")
    add("--only", nargs="+", metavar="TOOL", help="some of the tools (default: all)")
    add("--points", type=int, metavar="K", help="the K smallest of the thirty (default: all)")

    draw = commands.add_parser("draw", help="draw the figure")
    draw.set_defaults(run=_draw)
    draw.add_argument("--data", **data)
    draw.add_argument("--output", type=Path, required=True, help="picture to write, e.g. a PNG")

    table = commands.add_parser("table", help="print the table, in Markdown")
    table.set_defaults(run=_table)
    table.add_argument("--data", **data)
    return top


def _measure(given: argparse.Namespace) -> int:
    from .measure import ALL, measure

    unknown = sorted(set(given.only or ()) - set(ALL))
    if unknown:
        print(f"error: no tool {unknown[0]!r}; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    # Ended by a scheduler or a time limit, it ends the process that it waits for, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    measure(given.output, given.processes, given.only or ALL, given.points)
    return 0


def _draw(given: argparse.Namespace) -> int:
    from . import figure, summary

    figure.write(summary.per_point(summary.load(given.data)), given.output)
    return 0


def _table(given: argparse.Namespace) -> int:
    from . import summary

    print(summary.markdown(summary.load(given.data)))
    return 0


def main(argv: list[str] | None = None) -> int:
    """Exit code 0, or 2 for a command that cannot be carried out."""
    given = parser().parse_args(argv)
    return given.run(given)


if __name__ == "__main__":
    sys.exit(main())
