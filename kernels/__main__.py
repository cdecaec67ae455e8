"""List the kernels, say what the drop-in does on this machine, compile ahead of use."""

import argparse
import sys
from pathlib import Path

from . import KernelFileError, commands, configs, names, ops, packages, variant_file
from .registry import scaffold, source_scan


def parser() -> argparse.ArgumentParser:
    """Return the command-line parser."""
    top = argparse.ArgumentParser(prog=f"python -m {__package__}", description=__doc__)
    subparsers = top.add_subparsers(dest="command", metavar="command")
    commands.add_to(subparsers)
    new = subparsers.add_parser("new", help="write a correct kernel to start from")
    new.add_argument("name", help="name of the kernel: letters, digits and underscores")
    language = "language of the kernel (default %(default)s)"
    new.add_argument("--language", choices=scaffold.LANGUAGES, default="triton", help=language)
    output = "a file outside the project, NAME.py (default: kernels/contributed/NAME.py)"
    new.add_argument("--output", type=Path, metavar="FILE", help=output)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Return its exit code: 2 for bad input or a missing GPU."""
    arguments = parser().parse_args(argv)
    return commands.print_answer(lambda: _answer(arguments), KernelFileError)


def _answer(arguments: argparse.Namespace) -> str:
    """Do what the command line asks. Return what to print."""
    if arguments.command is None:
        return listing()
    if arguments.command == "new":
        written = scaffold.write(arguments.name, arguments.language, arguments.output)
        return scaffold.next_steps(written, arguments.output)
    return commands.answer(arguments)


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
    commands.run(main)
