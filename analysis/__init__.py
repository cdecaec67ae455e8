"""Merge rows, rank variants, check claims, draw figures, write reports, compare and record runs.

The package reads and writes files, and never imports torch. See `python3 -m analysis --help`.
"""


class InputError(Exception):
    """Report an input that cannot be used, before anything is written.

    The message says what was given, what is allowed and what to do. The command line prints it on
    one line and exits with 2.
    """
