"""Columns and flags of a row follow from its samples."""

import random

import pytest

from measure import stats
from measure.point import Point


def test_columns_of_the_row_follow_from_the_samples():
    chance, samples = random.Random(1), []
    times = {"variant": 10.0, "torch": 15.0, "torch_again": 15.0, "copy": 8.0}
    for block in range(51):
        samples += [(block, 0, name, times[name] * chance.gauss(1, 0.001)) for name in times]
    point = Point(gpu="h200", dtype="float32", M=1000, N=500, variant="triton_row")
    row = stats.derive_columns(point, samples)
    assert row["time_us"] == pytest.approx(10, rel=0.001)
    assert row["time_us_q20"] < row["time_us"] < row["time_us_q80"]
    assert row["of_copy"] == pytest.approx(0.8, rel=0.001)
    assert row["aa_low"] <= 1 <= row["aa_high"]
    assert row["throughput_gbps"] == 2 * 1000 * 500 * 4 / row["time_us"] / 1000


@pytest.mark.parametrize(
    ("change", "call", "calls", "expected"),
    [
        ({}, 2, 4, []),
        ({"aa_low": 1.011, "aa_high": 1.02}, 2, 4, ["aa_biased"]),
        ({"aa_low": 0.97, "aa_high": 0.989}, 2, 4, ["aa_biased"]),
        ({"aa_low": 1.001, "aa_high": 1.02}, 2, 4, []),
        ({"of_copy": 1.03}, 2, 4, ["faster_than_copy"]),
        ({"of_copy": 1.03}, 0.5, 4, []),
        ({"latency_us": 11.0}, 2, 4, ["launch_bound"]),
        ({"found_in_l2": 0.06}, 2, 4, ["not_cold"]),
        ({}, 0.5, 2, ["not_cold"]),
    ],
)
def test_flags(change, call, calls, expected):
    row = {"aa_low": 0.999, "aa_high": 1.001, "of_copy": 0.9, "time_us": 10.0}
    assert stats.find_flags(row | change, call * 100, calls, cache_bytes=100) == expected
