"""The limits by which two runs are compared."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Relative: what counts as the same, what fails, and the false-discovery rate.

    The margin is larger than what separates processes of the same code.
    """

    margin: float = 0.01
    threshold: float = 0.02
    rate: float = 0.05
