"""Fixtures shared by the tests of analysis."""

from pathlib import Path

import pytest

from analysis import frame, published, schema
from analysis.rows import with_ranking
from tests.analysis import synthetic


@pytest.fixture(scope="session")
def tables():
    """The published tables."""
    return published.load(Path(__file__).resolve().parents[2] / "data" / "published")


@pytest.fixture(scope="session")
def measurements():
    """Function that makes a typed frame of measurements from synthetic rows."""

    def make(rows, sweep="online_softmax", origin="measured", unranked=schema.UNRANKED):
        leading = {"sweep": sweep, "origin": origin}
        return frame.from_rows([leading | with_ranking(row, unranked) | row for row in rows])

    return make


@pytest.fixture(scope="session")
def online_rows():
    """Rows of the online softmax protocol for an H200, all ten variants."""
    return synthetic.sweep_rows()
