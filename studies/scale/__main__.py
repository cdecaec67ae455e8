"""``python -m studies.scale measure | table | draw``."""

import argparse
import sys
from pathlib import Path

from . import project

# Each command imports what it needs when it runs.


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m studies.scale", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="run the sweeps, without a GPU")
    one.add_argument("--output", type=Path, required=True, help="CSV file to write")
    one.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=list(project.SHAPES),
        choices=project.SHAPES,
        help="numbers of points (default: all)",
    )
    one.add_argument(
        "--calm",
        type=float,
        default=0.3,
        metavar="CORES",
        help="try a stage again during which others had more (default %(default)s)",
    )
    one.add_argument(
        "--skip", nargs="+", default=[], metavar="STAGE", help="stages to leave out, by name"
    )
    for name, text in (("table", "print a Markdown table"), ("draw", "draw the figure")):
        one = commands.add_parser(name, help=text)
        one.add_argument("--data", type=Path, required=True, help="written by `measure`")
        if name == "draw":
            one.add_argument("--output", type=Path, required=True, help="picture to write")
    return top


def main(words: list[str] | None = None) -> int:
    """The command line."""
    given = parser().parse_args(words)
    if given.command == "measure":
        from .measure import measure

        measure(given.output, given.sizes, given.calm, set(given.skip))
        return 0
    from . import show

    data = show.load(given.data)
    if given.command == "table":
        print(show.table(data))
    else:
        show.draw(data, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
