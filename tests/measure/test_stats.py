"""The statistics against distributions whose answers are known."""

import numpy as np
import pytest

from measure.stats import interval


# Tables of the binomial distribution give 18 and 33 of 50 values, 40 and 61 of 100.
@pytest.mark.parametrize(
    ("values", "low", "high", "coverage"), [(5, 1, 5, 0.9375), (6, 1, 6, 0.96875),
    (50, 18, 33, 0.9672), (100, 40, 61, 0.9648)]
)  # fmt: skip
def test_the_interval_is_the_narrowest_between_values_that_covers_enough(
    values, low, high, coverage
):
    found = interval.median_interval(np.random.default_rng(1).permutation(values) + 1)
    assert found.value == (values + 1) / 2
    assert (found.low, found.high) == (low, high)
    assert found.coverage == pytest.approx(coverage, abs=5e-5)


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="no values"):
        interval.median_interval([])


def test_pairing_removes_a_drift_that_both_series_share():
    rng = np.random.default_rng(6)
    drift = np.linspace(1, 1.3, 60)
    a, b = (2 * drift * rng.normal(1, 0.002, 60), drift * rng.normal(1, 0.002, 60))
    paired = interval.paired_ratio(a, b)
    assert paired.low < 2 < paired.high
    assert paired.high - paired.low < 0.01
    alone = interval.median_interval(a)
    assert alone.high - alone.low > 10 * (paired.high - paired.low)
