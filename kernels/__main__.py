"""List the kernels, say what the drop-in does on this machine, compile ahead of use."""

import argparse
import signal
import sys
from pathlib import Path

from . import DTYPES, BadKernel, configs, names, ops, packages, variant_file
from .contract import LONGEST_ROW
from .registry import scaffold, source_scan
from .registry.discover import PACKAGE
from .terminal import replace_missing_characters

IN_REPOSITORY = PACKAGE == "kernels"  # where a new kernel can be measured


def parser() -> argparse.ArgumentParser:
    """Return the command-line parser."""
    top = argparse.ArgumentParser(prog=f"python -m {PACKAGE}", description=__doc__)
    commands = top.add_subparsers(dest="command", metavar="command")
    commands.add_parser("info", help="print versions, GPU, the kernels that serve it, the cache")
    warm_up = commands.add_parser("warm-up", help="compile for these sizes and every GPU here")
    warm_up.add_argument("--dtype", nargs="+", choices=DTYPES, default=[*DTYPES], help="all three")
    lengths = f"lengths of rows, 1 to {LONGEST_ROW}"
    warm_up.add_argument("--N", nargs="+", type=_length, required=True, help=lengths)
    if IN_REPOSITORY:
        new = commands.add_parser("new", help="write a correct kernel to start from")
        new.add_argument("name", help="name of the kernel: letters, digits and underscores")
        language = "language of the kernel (default %(default)s)"
        new.add_argument("--language", choices=scaffold.LANGUAGES, default="triton", help=language)
        output = "a file outside the project, NAME.py (default: kernels/contributed/NAME.py)"
        new.add_argument("--output", type=Path, metavar="FILE", help=output)
    return top


def _length(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= LONGEST_ROW:
        raise argparse.ArgumentTypeError(f"{text!r} is not a row length from 1 to {LONGEST_ROW}")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    """Return exit code 0; 2 for bad input or a missing GPU, after one line that says why."""
    arguments = parser().parse_args(argv)
    try:
        print(_answer(arguments))
    except (BadKernel, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _answer(arguments: argparse.Namespace) -> str:
    """Do what the command line asks. Return what to print."""
    if arguments.command is None:
        return listing()
    if arguments.command == "new":
        written = scaffold.write(arguments.name, arguments.language, arguments.output)
        return scaffold.next_steps(written, arguments.output)
    from .dropin import machine  # here, because it imports torch

    if arguments.command == "info":
        return machine.info()
    return machine.warm_up(arguments.dtype, arguments.N)


def listing() -> str:
    """Return a text that lists every kernel: its idea, operations, packages and configs."""
    lines = []
    for name in names():
        idea = source_scan.docstring(variant_file(name)).partition("\n")[0] or "(no docstring)"
        facts = [" ".join(sorted(ops(name)))]
        facts += [" ".join(sorted(packages(name) - sys.stdlib_module_names))]
        facts += [f"configs {' '.join(offered)}"] if (offered := configs(name)) else []
        lines += [name, f"  {idea}", f"  {'; '.join(filter(None, facts))}"]
    return "\n".join(lines)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` is not an error
    replace_missing_characters()
    sys.exit(main())
