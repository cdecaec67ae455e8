"""Fixtures shared by the tests of analysis."""

import sys

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from analysis import published
from analysis.figures import panels
from measure import ROOT
from tests.analysis import synthetic

# Every run has equal examples, so that a failure is one of the code.
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
    return published.load(ROOT / "data/published")


@pytest.fixture
def chosen(tables):
    """Function that selects some rows of the H200 in float32."""
    return lambda rows, **options: panels.select(
        synthetic.ranked(rows, **options), tables, "h200", "float32", "online_softmax"
    )


@pytest.fixture(autouse=True)
def figures_closed():
    """pyplot keeps every figure until it is closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
