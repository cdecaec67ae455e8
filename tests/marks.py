"""Points of a grid that only `make test-all` runs."""

import pytest


def slow(*values, **more):
    """A parameter, or several that belong together, left out by `make test`."""
    return pytest.param(*values, marks=pytest.mark.slow, **more)
