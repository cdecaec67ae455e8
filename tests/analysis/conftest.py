"""Fixtures shared by the tests of analysis."""

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from analysis import frame, published, ranking, schema
from analysis.merge import mark_ranked
from tests.analysis import synthetic

# The same examples in every run, so that a failure is one of the code.
EXAMPLES = settings(derandomize=True, deadline=None, database=None, max_examples=60)
# Any text but lone surrogates, which UTF-8 does not have, and the carriage return, which Python's
# csv.writer did not quote before 3.13 and which no row has: its messages are one line.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r")
    | st.sampled_from('",\n\u2028\x00'),
    max_size=30,
)


@pytest.fixture(scope="session")
def tables():
    """The published tables."""
    return published.load(Path(__file__).resolve().parents[2] / "data" / "published")


def frame_of(rows, sweep="online_softmax", origin="measured", unranked=schema.UNRANKED):
    """A typed frame of measurements from synthetic rows."""
    leading = {"sweep": sweep, "origin": origin}
    return frame.from_rows(mark_ranked((leading | row for row in rows), unranked))


@pytest.fixture(scope="session")
def measurements():
    """frame_of."""
    return frame_of


@pytest.fixture(scope="session")
def ranked(measurements):
    """Function that makes a frame of ranked variants from synthetic rows, for figures."""
    return lambda rows, **given: ranking.rank_variants(measurements(rows, **given))


@pytest.fixture(scope="session")
def online_rows():
    """Rows of the online softmax protocol for an H200, all ten variants."""
    return synthetic.sweep_rows()


@pytest.fixture
def both_operations(measurements):
    """Rows of both operations at one point; each has another fastest variant and other errors."""
    speeds = {
        "softmax": {"triton_row": 1.5, "triton_online": 1.2},
        "log_softmax": {"triton_row": 1.1, "triton_online": 1.4},
    }
    return measurements(
        synthetic.with_speedup(value, op=op, variant=variant, max_abs_error=error)
        for (op, speed), error in zip(speeds.items(), (1e-9, 5e-7), strict=True)
        for variant, value in speed.items()
    )
