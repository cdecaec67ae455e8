"""What separates the processes of one point widens every ratio between them."""

import math

import pytest

from analysis import ranking
from analysis import statistics as stats
from tests.analysis import synthetic


def frame_of(measurements, torch_times):
    variants = ["triton_row", "triton_online", "triton_fused"]
    rows = [
        synthetic.row(variant=variant, torch_us=str(torch_us))
        for variant, torch_us in zip(variants, torch_times, strict=True)
    ]
    return measurements(rows)


def test_the_deviation_is_that_of_torch_over_the_processes_of_a_point(measurements):
    spread = frame_of(measurements, [100.0, 101.0, 102.01])["between_sd"]
    assert spread.to_list() == pytest.approx([math.log(1.01)] * 3)
    assert frame_of(measurements, [100.0, 100.0, 100.0])["between_sd"].to_list() == [0.0] * 3


def test_two_processes_say_nothing(measurements):
    rows = [synthetic.row(variant="triton_row"), synthetic.row(variant="triton_online")]
    assert measurements(rows)["between_sd"].to_list() == [0.0, 0.0]


def test_it_widens_an_interval_in_quadrature():
    row = {"variant": "triton_row", "speedup": 2.0, "speedup_low": 1.9, "speedup_high": 2.1}
    alone = stats.over_torch(row)
    assert (alone.low, alone.high) == pytest.approx((1.9, 2.1))
    wide = stats.over_torch(row | {"between_sd": 0.05})
    up = math.hypot(math.log(2.1 / 2.0), 1.96 * 0.05)
    assert wide.high == pytest.approx(2.0 * math.exp(up))
    assert wide.low < alone.low


def test_a_small_lead_is_not_sure_when_processes_differ_by_more(measurements):
    for times, sure in (([100.0, 100.0, 100.0], True), ([100.0, 103.0, 106.0], False)):
        frame = frame_of(measurements, times)
        frame["speedup"] = [1.01, 1.0, 0.5]
        frame["speedup_low"] = frame["speedup"] * 0.999
        frame["speedup_high"] = frame["speedup"] * 1.001
        best = ranking.summarise(frame).iloc[0]
        assert (best["variant"], bool(best["lead_sure"])) == ("triton_row", sure)
