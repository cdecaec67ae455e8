"""Merge rows, rank variants, check claims, draw figures, write reports, compare and record runs.

This room reads files and writes files, and never imports torch. `python3 -m analysis --help`.
"""


class InputError(Exception):
    """Something given to `analysis` cannot be used.

    The message says what was given, what is allowed and what to do. The command line prints it
    on one line and exits with 1 (`compare` with 2); nothing has been written by then.
    """
