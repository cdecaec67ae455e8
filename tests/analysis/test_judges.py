"""The borders of verdicts, from speeds whose p-values are known: just enough, and just not.

test_claims.py has every claim, with rows.
"""

import math

import pytest

from analysis.claims import judges
from analysis.claims.reproduction import VERDICTS, compare_effects, compare_shares
from analysis.stats import Estimate

SAME, PARTLY, FAILS, OPEN, _ = VERDICTS
SE = 1e-3
# Standard errors from 1: significant, not quite, and significant alone but not as one of two.
SURE, UNSURE, ALONE = 1.97, 1.95, 2.1


def speed(errors, ratio=1.0):
    """A speed that is so many standard errors from `ratio`."""
    return Estimate(math.log(ratio) + errors * SE, SE**2)


def test_p_values_are_of_all_above_and_of_one_below():
    """At 3, 1 and 2 standard errors a normal two-sided p is 0.0027, 0.3173 and 0.0455."""
    for errors, expected in {
        (3, 1): (0.3173, 1.0),
        (3, 2): (0.0455, 1.0),
        (-3, 1): (1.0, 0.0054),
        (-3, -1): (1.0, 0.0054),
        (-1, -1): (1.0, 0.6346),
        (-1, -1, -1, -1): (1.0, 1.0),
        (0,): (1.0, 1.0),
    }.items():
        assert judges.p_values(map(speed, errors)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("errors", "sides"),
    [
        ((SURE, UNSURE, 0), ["above", "unclear", "unclear"]),
        ((-SURE,), ["below"]),
        ((-UNSURE,), ["unclear"]),
        ((-ALONE, -ALONE), ["unclear", "unclear"]),  # each of two sizes needs half of the level
        ((-ALONE, -3), ["below", "below"]),  # the largest p of two is not corrected
        ((SURE, -ALONE), ["above", "unclear"]),
    ],
)
def test_sides_need_significance_and_those_below_are_corrected(errors, sides):
    finding = judges.sides_of(dict(enumerate(map(speed, errors))))
    assert list(finding.values()) == sides


@pytest.mark.parametrize(
    ("low", "high", "published", "verdict"),
    [
        (1.4, 1.6, 1.5, SAME),  # a fifth of 0.5 on each side
        (1.39, 1.39, 1.5, PARTLY),
        (1.61, 1.61, 1.5, PARTLY),
        (1.39, 1.41, 1.5, OPEN),
        (1.3, 1.7, 1.5, OPEN),  # each end alone is partly
        (1.001, 1.001, 1.5, PARTLY),
        (0.99, 0.99, 1.5, FAILS),
        (0.99, 1.01, 1.5, OPEN),
        (1.01, 1.02, math.nan, SAME),  # the direction alone
        (0.98, 0.99, math.nan, FAILS),
        (0.99, 1.01, math.nan, OPEN),
        (0.92, 0.92, 0.9, SAME),  # a published slowdown
        (1.1, 1.1, 0.9, FAILS),
    ],
)
def test_an_effect_is_reproduced_within_a_fifth_and_only_by_the_whole_interval(
    low, high, published, verdict
):
    finding = compare_effects((low + high) / 2, low, high, published, neutral=1.0)
    assert finding.verdict == verdict


def test_the_rounding_of_a_printed_number_is_allowed():
    printed = {"published": 1.01, "neutral": 1.0}  # the effect of 0.01 was rounded to a whole unit
    assert compare_effects(1.014, 1.014, 1.014, **printed).verdict == PARTLY
    assert compare_effects(1.014, 1.014, 1.014, **printed, rounding=0.005).verdict == SAME


@pytest.mark.parametrize(
    ("low", "high", "published", "verdict"),
    [
        (1.0, 1.0, math.nan, SAME),  # every size is claimed
        (0.9, 1.0, math.nan, OPEN),
        (0.9, 0.9, math.nan, PARTLY),
        (0.9, 0.9, 1.0, PARTLY),
        (0.5, 0.5, math.nan, PARTLY),
        (0.4, 0.4, math.nan, FAILS),
        (0.4, 0.4, 0.5, SAME),  # the source's own table has exceptions
        (0.39, 0.39, 0.5, FAILS),
        (1.0, 1.0, 0.5, SAME),  # more than the source's table has
    ],
)
def test_a_share_is_compared_with_that_of_the_sources_own_table(low, high, published, verdict):
    assert compare_shares(low, high, published, "faster").verdict == verdict
