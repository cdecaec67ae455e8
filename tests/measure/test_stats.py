"""The statistics against distributions whose answers are known."""

import numpy as np
import pytest

from measure.stats import interval
from tests.marks import slow


def test_the_median_and_an_interval_around_it():
    found = interval.median_interval(np.arange(1.0, 102.0))
    assert found.value == 51
    assert found.low < 51 < found.high
    # Order statistics: for n = 101 the 95 % interval of a median is near ranks 41 and 61.
    assert 38 <= found.low <= 44
    assert 58 <= found.high <= 64


def test_a_constant_is_known_exactly():
    assert interval.median_interval([3.0] * 40) == (3, 3, 3)
    assert interval.median_interval([3.0] * 40).width == 0


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="no values"):
        interval.median_interval([])


# Quick: the one whose mean is not its median.
@pytest.mark.parametrize("spread", [slow("normal"), "lognormal", slow("two_modes")])
def test_the_interval_covers_the_true_median(spread):
    """95 % nominal; 400 trials put a right method within 92 % and 98 % almost surely."""
    rng = np.random.default_rng(5)
    draws = {
        "normal": (lambda n: rng.normal(10, 1, n), 10.0),
        "lognormal": (lambda n: rng.lognormal(0, 1, n), 1.0),
        # 70 % around 10, 30 % around 12: the median is the 5/7 quantile of the first mode
        "two_modes": (
            lambda n: np.where(rng.random(n) < 0.7, rng.normal(10, 0.2, n), rng.normal(12, 0.2, n)),
            10 + 0.2 * 0.56595,
        ),
    }
    draw, truth = draws[spread]
    intervals = [interval.median_interval(draw(60)) for _ in range(400)]
    covered = np.mean([i.low <= truth <= i.high for i in intervals])
    assert 0.92 <= covered <= 0.98


def test_pairing_removes_a_drift_that_both_series_share():
    rng = np.random.default_rng(6)
    drift = np.linspace(1, 1.3, 60)
    a, b = (2 * drift * rng.normal(1, 0.002, 60), drift * rng.normal(1, 0.002, 60))
    paired = interval.paired_ratio(a, b)
    assert paired.low < 2 < paired.high
    assert paired.width < 0.005
    alone = interval.median_interval(a)
    assert alone.width > 10 * paired.width
