"""Define the error whose message is printed for the user."""


class InputError(Exception):
    """Something given to `analysis` cannot be used.

    The message says what was given, what is allowed and what to do. The command line prints it
    on one line and exits with 1 (`compare` with 2); nothing has been written by then.
    """
