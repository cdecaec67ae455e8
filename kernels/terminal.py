"""Print to a terminal that lacks a character, such as µ in an encoding of East Asia."""

import sys


def replace_missing_characters() -> None:
    """Let standard output show ? for what its encoding lacks, rather than end the program.

    Standard error does so by itself. Each program calls it first.
    """
    if hasattr(sys.stdout, "reconfigure"):  # a test or a notebook may have put another object there
        sys.stdout.reconfigure(errors="replace")
