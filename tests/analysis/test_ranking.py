"""Paired ratios, their intervals, and the ranking built on them."""

import math

import pytest

from analysis import ranking
from analysis import statistics as stats
from analysis.statistics import Ratio
from tests.analysis import synthetic


def record(variant, value, low=math.nan, high=math.nan, time_us=1.0):
    return {
        "variant": variant,
        "speedup": value,
        "speedup_low": low,
        "speedup_high": high,
        "time_us": time_us,
    }


def test_half_widths_add_in_quadrature_on_the_log_scale():
    a = record("a", 2, 2 / math.exp(0.03), 2 * math.exp(0.03))
    b = record("b", 1, math.exp(-0.04), math.exp(0.04))
    ratio = stats.speed_ratio(a, b)
    assert math.log(ratio.high / ratio.value) == pytest.approx(0.05)
    assert math.log(ratio.value / ratio.low) == pytest.approx(0.05)


def test_without_speed_ups_times_decide_and_there_is_no_interval():
    ratio = stats.speed_ratio(record("a", math.nan, time_us=2), record("b", math.nan, time_us=3))
    assert ratio.value == 1.5
    assert math.isnan(ratio.low)
    assert math.isnan(ratio.high)


def test_geometric_mean_and_its_interval():
    spread = math.exp(0.02)
    mean = stats.geometric_mean(
        [Ratio(2, 2 / spread, 2 * spread), Ratio(8, 8 / spread, 8 * spread)]
    )
    assert mean.value == pytest.approx(4)
    assert math.log(mean.high / mean.value) == pytest.approx(0.02 / math.sqrt(2))


@pytest.mark.parametrize(
    ("ratio", "side"),
    [
        (Ratio(1.1, 1.01, 1.2), "above"),
        (Ratio(0.9, 0.8, 0.99), "below"),
        (Ratio(1.1, 0.99, 1.2), "unclear"),
        (Ratio(1.1), "above"),
        (Ratio(1.0), "unclear"),
    ],
)
def test_side(ratio, side):
    assert ratio.side() == side


def ranked(frame):
    table = ranking.summarise(frame).dropna(subset="rank").sort_values("rank")
    return table["variant"].to_list()


def test_ranking_is_by_paired_speed_up(measurements):
    rows = [
        synthetic.with_speedup(1.2, variant="triton_row", time_us=9),
        synthetic.with_speedup(1.5, variant="triton_online", time_us=10),
        synthetic.with_speedup(1.002, variant="torch_softmax", time_us=8),
    ]
    assert ranked(measurements(rows)) == ["triton_online", "triton_row", "torch_softmax"]


def test_ranking_is_by_time_when_a_speed_up_is_missing(measurements):
    blank = {"speedup": "", "speedup_low": "", "speedup_high": ""}
    rows = [
        synthetic.with_speedup(1.2, variant="triton_row", time_us=9),
        synthetic.row(variant="triton_online", time_us=8) | blank,
    ]
    frame = measurements(rows)
    assert ranked(frame) == ["triton_online", "triton_row"]
    winner = ranking.summarise(frame).iloc[0]
    assert winner["lead"] == pytest.approx(9 / 8)
    assert not winner["lead_sure"]


@pytest.mark.parametrize(("half", "sure"), [(0.01, True), (0.2, False)])
def test_lead_of_the_winner(measurements, half, sure):
    rows = [
        synthetic.with_speedup(1.5, half, variant="triton_row"),
        synthetic.with_speedup(1.4, half, variant="triton_online"),
    ]
    winner, second = ranking.summarise(measurements(rows)).to_dict("records")
    assert winner["runner_up"] == "triton_online"
    assert winner["lead"] == pytest.approx(1.5 / 1.4)
    assert winner["lead_low"] < winner["lead"] < winner["lead_high"]
    assert winner["lead_sure"] is sure
    assert second["runner_up"] == ""
    assert math.isnan(second["lead"])


def test_summary_file_reads_back(measurements, online_rows, tmp_path):
    frame = measurements(online_rows)
    ranking.write(frame, tmp_path / "s.csv")
    table = ranking.read(tmp_path / "s.csv")
    assert len(table) == len(frame)
    assert table["best"].sum() == len(synthetic.ONLINE_SIZES)
    expected = ranking.summarise(frame)
    assert table["lead"].to_list() == pytest.approx(expected["lead"].to_list(), nan_ok=True)
    assert "true" in (tmp_path / "s.csv").read_text()


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
