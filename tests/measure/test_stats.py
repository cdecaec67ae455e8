"""Intervals against distributions whose answers are known; columns and flags from samples."""

import random

import numpy as np
import pytest

from measure import stats, timing
from measure.point import Point
from tests.bench import point


# Tables of the binomial distribution give 18 and 33 of 50 values, 19 and 33 of 51, and so on.
@pytest.mark.parametrize(
    ("values", "low", "high"),
    [(5, 1, 5), (8, 1, 8), (9, 2, 8), (12, 3, 10), (50, 18, 33), (51, 19, 33), (100, 40, 61)],
)
def test_the_interval_is_the_narrowest_between_values_that_covers_enough(values, low, high):
    interval = stats.median_interval(np.random.default_rng(1).permutation(values) + 1)
    assert interval == ((values + 1) / 2, low, high)


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="no values"):
        stats.median_interval([])


def noise(rng, shape):
    """Skewed, heavy-tailed, of two modes; and interruptions, which only ever cost time."""
    usual = rng.standard_exponential(shape) + rng.standard_t(2.5, shape)
    slower, interrupted = rng.random(shape) < 0.3, rng.random(shape) < 0.02
    return usual + 4 * slower + 20 * interrupted * np.abs(rng.standard_t(1.5, shape))


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Both series share a slow drift, which pairing removes."""
    rng, held, ratio, points = np.random.default_rng(0), 0, 1.3, 4000
    for _ in range(points):
        drift = np.cumsum(rng.standard_normal(Point.blocks))
        torch, variant = np.exp(0.01 * (5 * drift + noise(rng, (2, Point.blocks))))
        interval = stats.paired_ratio(ratio * torch, variant)
        held += interval.low <= ratio <= interval.high
    # within 2.5 standard deviations of the share; the bootstrap, with a rule that stopped once it
    # was narrow, had 94.0 % of several kinds of noise
    assert held / points == pytest.approx(0.9511, abs=0.0085)


def test_columns_of_the_row_follow_from_the_samples():
    chance, samples = random.Random(1), []
    times = {"variant": 10.0, "torch": 15.0, "torch_again": 15.0, "copy": 8.0, "meet": 9.0}
    for block in range(51):
        samples += [(block, 0, name, times[name] * chance.gauss(1, 0.001)) for name in times]
    large = point(M=1000, N=500)
    row = timing.derive_columns(large, samples)
    assert row["time_us"] == pytest.approx(10, rel=0.001)
    assert row["time_us_q20"] < row["time_us"] < row["time_us_q80"]
    shares = row["of_copy"], row["of_meet"]
    assert shares == pytest.approx((0.8, 0.9), rel=0.001)
    without = timing.derive_columns(large, [sample for sample in samples if sample[2] != "meet"])
    assert row.keys() - without.keys() == {"meet_us", "of_meet"}
    assert row["aa_low"] <= 1 <= row["aa_high"]
    assert row["throughput_gbps"] == 2 * 1000 * 500 * 4 / row["time_us"] / 1000


# The host decides for both, for the variant alone, and for neither.
@pytest.mark.parametrize(
    ("variant_us", "torch_us", "ratio"), [(4.0, 5.0, 0.6), (4.0, 18.0, 1.5), (40.0, 30.0, 0.75)]
)
def test_an_eager_call_takes_the_longer_of_its_host_time_and_its_gpu_time(
    variant_us, torch_us, ratio
):
    times, samples = {"variant": variant_us, "torch": torch_us}, []
    for block in range(51):
        samples += [(block, place, name, times[name]) for place, name in enumerate(times)]
    drift = np.linspace(0.9, 1.1, 21)  # the host's clock drifts, which pairing removes
    submissions = {"variant": [*(12.0 * drift)], "torch": [*(7.2 * drift)]}
    row = timing.eager_columns(samples, submissions)
    assert (row["latency_us"], row["torch_latency_us"]) == pytest.approx((12.0, 7.2))
    assert row["eager_speedup"] == pytest.approx(ratio)
    assert row["eager_speedup_low"] <= row["eager_speedup"] <= row["eager_speedup_high"]
    assert timing.eager_columns(samples, {}) == {}


@pytest.mark.parametrize(
    ("change", "call", "calls", "expected"),
    [
        ({"aa_low": 1.011, "aa_high": 1.02}, 2, 4, ["aa_biased"]),
        ({"aa_low": 0.97, "aa_high": 0.989}, 2, 4, ["aa_biased"]),
        ({"aa_low": 1.001, "aa_high": 1.02}, 2, 4, []),
        ({"aa_low": 0.96, "aa_high": 1.07}, 2, 4, ["noisy"]),
        ({"speedup_low": 0.213, "speedup_high": 5.94}, 2, 4, ["noisy"]),
        ({"of_copy": 1.03}, 2, 4, ["faster_than_roofline"]),
        ({"of_copy": 1.03}, 0.5, 8, []),
        ({"latency_us": 11.0}, 2, 4, ["launch_bound"]),
        ({"found_in_l2": 0.06}, 2, 4, ["not_cold"]),
        ({}, 0.5, 6, ["not_cold"]),
    ],
)
def test_flags(change, call, calls, expected):
    row = {"aa_low": 0.999, "aa_high": 1.001, "of_copy": 0.9, "time_us": 10.0}
    row |= {"speedup_low": 1.5, "speedup_high": 1.52}
    assert timing.find_flags(row | change, call * 100, calls, cache_bytes=100) == expected
