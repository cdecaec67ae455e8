"""Say what the library does on this machine, and compile its kernels ahead of use."""

import argparse
import signal
import sys
from collections.abc import Callable

from .contract import DTYPES, LONGEST_ROW
from .terminal import replace_missing_characters


def parser() -> argparse.ArgumentParser:
    """Return the command-line parser of ``python -m softmax_bench``."""
    top = argparse.ArgumentParser(prog=f"python -m {__package__}", description=__doc__)
    add_to(top.add_subparsers(dest="command", metavar="command"))
    return top


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add the library's commands to a parser's."""
    commands.add_parser("info", help="print versions, GPU, the kernels that serve it, the cache")
    warm_up = commands.add_parser(
        "warm-up", help="compile softmax and log_softmax for these sizes and GPUs"
    )
    dtypes = "dtypes (default: all three)"
    warm_up.add_argument("--dtype", nargs="+", choices=DTYPES, default=[*DTYPES], help=dtypes)
    lengths = f"lengths of rows, 1 to {LONGEST_ROW}"
    warm_up.add_argument("--N", nargs="+", type=_length, required=True, help=lengths)


def _length(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= LONGEST_ROW:
        raise argparse.ArgumentTypeError(f"{text!r} is not a row length from 1 to {LONGEST_ROW}")
    return int(text)


def answer(arguments: argparse.Namespace) -> str:
    """Run one of the library's commands. Return what to print."""
    from .dropin import machine  # here, because it imports torch

    if arguments.command == "info":
        return machine.info()
    return machine.warm_up(arguments.dtype, arguments.N)


def print_answer(answer: Callable[[], str], *refusals: type[Exception]) -> int:
    """Print what ``answer`` returns. Return the exit code 0.

    Returns 2 after one line that says why, if it raises RuntimeError or one of ``refusals``.
    """
    try:
        print(answer())
    except (RuntimeError, *refusals) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def run(main: Callable[[], int]) -> None:
    """Exit with the code that ``main`` returns."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` is not an error
    replace_missing_characters()
    sys.exit(main())


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Return its exit code: 2 for bad input or a missing GPU."""
    top = parser()
    arguments = top.parse_args(argv)
    if arguments.command is None:
        return print_answer(top.format_help)
    return print_answer(lambda: answer(arguments))


if __name__ == "__main__":
    run(main)
