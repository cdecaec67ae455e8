"""Telemetry, as far as it needs no GPU."""

import pytest

from measure.device import telemetry


@pytest.mark.parametrize(
    ("clocks", "expected"),
    [
        ([], False),
        ([1980], False),
        ([1980, 1965, 1980], False),
        ([1980, 1980, 1925], False),  # 2.8 %
        ([1980, 1980, 1900], True),  # 4 %
        ([1980] * 99 + [345], True),  # one sample of an idle GPU is a drift, too
    ],
)
def test_a_clock_that_moves_by_more_than_three_percent_drifts(clocks, expected):
    assert telemetry.drifted(clocks) is expected
