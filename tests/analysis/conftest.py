"""Fixtures shared by the tests of analysis."""

from pathlib import Path

import pytest

from analysis import frame, published, ranking, schema
from analysis.rows import with_ranking
from tests.analysis import synthetic


@pytest.fixture(scope="session")
def tables():
    """The published tables."""
    return published.load(Path(__file__).resolve().parents[2] / "data" / "published")


def frame_of(rows, sweep="online_softmax", origin="measured", unranked=schema.UNRANKED):
    """A typed frame of measurements from synthetic rows."""
    leading = {"sweep": sweep, "origin": origin}
    return frame.from_rows([leading | with_ranking(row, unranked) | row for row in rows])


@pytest.fixture(scope="session")
def measurements():
    """frame_of."""
    return frame_of


@pytest.fixture(scope="session")
def ranked(measurements):
    """Function that makes a frame of ranked variants from synthetic rows, for figures."""
    return lambda rows, **given: ranking.ranked(measurements(rows, **given))


@pytest.fixture(scope="session")
def online_rows():
    """Rows of the online softmax protocol for an H200, all ten variants."""
    return synthetic.sweep_rows()
