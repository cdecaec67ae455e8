"""Paired ratios, their intervals, and the ranking built on them."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_ratio_of_two_variants_goes_over_their_speed_ups_not_their_times():
    # b ran while the GPU was half as fast: its time is longer, its speed-up over torch is not.
    a, b = record("a", 1.5, 1.49, 1.51, time_us=10), record("b", 1.5, 1.49, 1.51, time_us=20)
    assert stats.speed_ratio(a, b).value == pytest.approx(1)


def test_half_widths_add_in_quadrature_on_the_log_scale():
    a = record("a", 2, 2 / math.exp(0.03), 2 * math.exp(0.03))
    b = record("b", 1, math.exp(-0.04), math.exp(0.04))
    ratio = stats.speed_ratio(a, b)
    assert math.log(ratio.high / ratio.value) == pytest.approx(0.05)
    assert math.log(ratio.value / ratio.low) == pytest.approx(0.05)


def test_lopsided_intervals_use_the_opposite_end_of_the_divisor():
    a, b = record("a", 1, 1, 1), record("b", 1, math.exp(-0.1), 1)
    ratio = stats.speed_ratio(a, b)
    assert ratio.low == pytest.approx(1)
    assert ratio.high == pytest.approx(math.exp(0.1))


def test_torch_is_one_exactly_so_the_other_keeps_its_own_interval():
    torch = record("torch_softmax", 1.01, 0.99, 1.03)
    ratio = stats.speed_ratio(record("a", 1.5, 1.4, 1.6), torch)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.5, 1.4, 1.6))


def test_without_speed_ups_times_decide_and_there_is_no_interval():
    ratio = stats.speed_ratio(record("a", math.nan, time_us=2), record("b", math.nan, time_us=3))
    assert ratio.value == 1.5
    assert math.isnan(ratio.low)
    assert math.isnan(ratio.high)


def test_interval_of_a_ratio_covers_the_truth_in_95_of_100_cases():
    rng = random.Random(3407)
    sigma, hits, trials = 0.01, 0, 2000
    for _ in range(trials):
        rows = []
        for name, truth in (("a", 1.3), ("b", 1.1)):
            seen = truth * math.exp(rng.gauss(0, sigma))
            half = math.exp(1.96 * sigma)
            rows.append(record(name, seen, seen / half, seen * half))
        ratio = stats.speed_ratio(*rows)
        hits += ratio.low <= 1.3 / 1.1 <= ratio.high
    assert 0.935 <= hits / trials <= 0.965


positive = st.floats(0.1, 10)


@given(positive, positive, st.floats(1, 1.5), st.floats(1, 1.5))
def test_ratio_seen_from_the_other_side_is_the_inverse(a, b, wide_a, wide_b):
    first = record("a", a, a / wide_a, a * wide_a)
    second = record("b", b, b / wide_b, b * wide_b)
    there, back = stats.speed_ratio(first, second), stats.speed_ratio(second, first).inverse()
    assert (there.value, there.low, there.high) == pytest.approx((back.value, back.low, back.high))
    assert there.low <= there.value <= there.high


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


def test_rows_that_are_not_ok_or_too_good_do_not_rank(measurements):
    rows = [
        synthetic.row(variant="triton_row"),
        synthetic.row(variant="triton_online", flags="aa_biased faster_than_copy", speedup=9.0),
        synthetic.row(variant="triton_fused", status="incorrect", message="wrong"),
    ]
    table = ranking.summarise(measurements(rows)).set_index("variant")
    assert table["rank"].dropna().to_dict() == {"triton_row": 1}
    assert table.loc["triton_row", "best"]
    assert table.loc["triton_row", "runner_up"] == ""
    assert table.loc["triton_fused", "message"] == "wrong"


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
