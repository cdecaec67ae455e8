"""What makes a run pleasant, and must never keep one from starting.

It reaches into parts of Snakemake that another version may have changed; then it is left out, with
a word on why.
"""

import importlib
import sys
from collections.abc import Callable, Iterable


def show(workflow, points: int) -> None:
    """Show how far the run is, see ``progress``."""
    _attempt("progress is not shown", lambda: _module("progress").show(workflow, points))


def say(workflow, lines: Iterable[str]) -> None:
    """Lines on the screen, unless it is to be silent."""
    if not _attempt("", lambda: _module("progress").is_silent(workflow)):
        print(*lines, sep="\n", file=sys.stderr)


def _module(name: str):
    return importlib.import_module(f"{__package__}.{name}")


def _attempt(otherwise: str, act: Callable[[], object]):
    try:
        return act()
    except Exception as error:
        if otherwise:
            print(f"{otherwise}: {type(error).__name__}: {error}", file=sys.stderr)
    return None
