"""List the kernels: ``python -m kernels``. Add a kernel: ``python -m kernels new NAME``."""

import argparse
import signal
import sys
from pathlib import Path

from . import BadKernel, configs, file, names, ops, packages
from .registry import scaffold, source_scan

# The packages of a kernel that the list names; all others come with Python or with these.
LISTED_PACKAGES = ("torch", "triton", "cuda", "quack", "liger_kernel", "flag_gems", "helion")


def parser() -> argparse.ArgumentParser:
    """Return the command-line parser."""
    top = argparse.ArgumentParser(prog="python -m kernels", description=__doc__)
    commands = top.add_subparsers(dest="command", metavar="command")
    new = commands.add_parser("new", help="write a correct kernel to start from")
    new.add_argument("name", help="name of the kernel: letters, digits and underscores")
    language = "language of the kernel (default %(default)s)"
    new.add_argument("--language", choices=scaffold.LANGUAGES, default="triton", help=language)
    output = "a file outside the project, NAME.py (default: kernels/contributed/NAME.py)"
    new.add_argument("--output", type=Path, metavar="FILE", help=output)
    return top


def main(argv: list[str] | None = None) -> int:
    """Return exit code 0; 2 for bad input, after one line that says why."""
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
    """Return a text that lists every kernel: its idea, operations, packages and configs."""
    lines = []
    for name in names():
        idea = source_scan.docstring(file(name)).partition("\n")[0] or "(no docstring)"
        facts = [" ".join(sorted(ops(name)))]
        facts += [" ".join(p for p in LISTED_PACKAGES if p in packages(name))]
        facts += [f"configs {' '.join(offered)}"] if (offered := configs(name)) else []
        lines += [name, f"  {idea}", f"  {'; '.join(filter(None, facts))}"]
    return "\n".join(lines)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` is not an error
    sys.exit(main())
