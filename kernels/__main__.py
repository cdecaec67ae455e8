"""``python -m kernels``: which kernels there are. ``python -m kernels new NAME``: one more."""

import argparse
import signal
import sys
from pathlib import Path

from . import BadKernel, configs, file, names, ops, packages
from .registry import scaffold, source_scan

# What of a kernel's imports tells where it runs; the others come with Python or with these.
TOLD = ("torch", "triton", "cuda", "quack", "liger_kernel", "flag_gems", "helion")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m kernels", description=__doc__)
    commands = top.add_subparsers(dest="command", metavar="command")
    new = commands.add_parser("new", help="write a kernel to start from, which is right already")
    new.add_argument("name", help="of the kernel: letters, digits and underscores")
    new.add_argument(
        "--language",
        choices=scaffold.LANGUAGES,
        default=scaffold.LANGUAGES[0],
        help="what to write it in (default %(default)s)",
    )
    new.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="a file outside the project, NAME.py (default: kernels/contributed/NAME.py)",
    )
    return top


def main(argv: list[str] | None = None) -> int:
    """Exit code 0; 2 for bad input, after one line that says why."""
    given = parser().parse_args(argv)
    try:
        if given.command is None:
            print(listing())
        else:
            written = scaffold.write(given.name, given.language, given.output)
            print(scaffold.next_steps(written, given.output))
    except BadKernel as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def listing() -> str:
    """Every kernel: its idea, what it computes, its what it is written with."""
    return "\n".join(_told(name) for name in names())


def _told(name: str) -> str:
    idea = source_scan.docstring(file(name)).partition("\n")[0] or "(no docstring)"
    facts = [" ".join(sorted(ops(name))), " ".join(p for p in TOLD if p in packages(name))]
    if found := configs(name):
        facts.append(f"configs {' '.join(found)}")
    return f"{name}\n  {idea}\n  {'; '.join(filter(None, facts))}"


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` is no error
    sys.exit(main())
