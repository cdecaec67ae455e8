"""`python -m studies.side_by_side measure | table | draw`."""

import argparse
import sys
from pathlib import Path

from . import summary
from .measure import TOOLS, measure


def main(argv: list[str] | None = None) -> int:
    """Return exit code 0, or 2 for a command that cannot be carried out."""
    parser = argparse.ArgumentParser(prog="python -m studies.side_by_side", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="time the points with every tool, on a GPU")
    one.add_argument("--output", type=Path, required=True, help="folder; existing parts are kept")
    one.add_argument("--processes", type=int, default=5, help="per tool (default %(default)s)")
    one.add_argument("--only", nargs="+", choices=TOOLS, default=list(TOOLS), help="default: all")
    one = commands.add_parser("table", help="print the table, in Markdown")
    one.add_argument("--data", type=Path, required=True, help="side_by_side.csv")
    one = commands.add_parser("draw", help="draw the figure")
    one.add_argument("--data", type=Path, required=True, help="side_by_side.csv")
    one.add_argument("--output", type=Path, required=True, help="picture to write, e.g. a PNG")
    given = parser.parse_args(argv)
    try:
        if given.command == "measure":
            measure(given.output, given.processes, given.only)
        elif given.command == "table":
            print(summary.markdown(summary.load(given.data)))
        else:
            summary.draw(summary.per_point(summary.load(given.data)), given.output)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
