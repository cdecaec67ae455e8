"""Rows of softmax, of log_softmax and of their backward are never mixed."""

import pytest

from analysis import claims, ranking
from analysis.markdown import render
from analysis.panels import copy_rate
from analysis.report import best_sets, quality
from tests.analysis import synthetic
from tests.marks import slow

OPS = ("softmax", "log_softmax")
# All but softmax; each is a name in the same column.
OTHERS = ("log_softmax", slow("softmax_backward"), slow("log_softmax_backward"))


@pytest.fixture
def both(measurements):
    """Rows of both operations at one point; each has another fastest variant and other errors."""
    speeds = {
        "softmax": {"triton_row": 1.5, "triton_online": 1.2},
        "log_softmax": {"triton_row": 1.1, "triton_online": 1.4},
    }
    return measurements(
        synthetic.with_speedup(value, op=op, variant=variant, max_abs_error=error)
        for (op, speed), error in zip(speeds.items(), (1e-9, 5e-7), strict=True)
        for variant, value in speed.items()
    )


def test_each_operation_has_its_own_ranking(both):
    table = ranking.summarise(both).set_index("op")
    best, second = table[table["rank"] == 1], table[table["rank"] == 2]
    assert best["variant"].to_dict() == {"softmax": "triton_row", "log_softmax": "triton_online"}
    assert second["behind_best"].to_dict() == pytest.approx(
        {"softmax": 1.5 / 1.2, "log_softmax": 1.4 / 1.1}
    )


def test_the_verdict_has_a_sentence_for_each(both):
    text = render(best_sets.section(ranking.summarise(both), {"h200": "NVIDIA H200"}))
    assert "(sweep `online_softmax`) **triton_row** wins at 1 of 1 matrix" in text
    assert "(sweep `online_softmax`, log_softmax) **triton_online** wins at 1 of 1" in text


@pytest.mark.parametrize("op", OTHERS)
def test_claims_about_softmax_do_not_see_another_operation(op, measurements, tables):
    point = {"op": op, "N": 131072}
    rows = [
        synthetic.with_speedup(1.36, variant="triton_online", **point),
        synthetic.row(variant="torch_softmax", **point),
    ]
    table = claims.check(measurements(rows), tables)
    own = table[table["origin"] == "measured"]
    assert set(own["verdict"]) == {"no data"}
    softmax = [row | {"op": "softmax"} for row in rows]
    slow = [row | {"speedup": "0.5", "speedup_low": "0.49", "speedup_high": "0.51"} for row in rows]
    table = claims.check(measurements(softmax + slow), tables)
    own = table[(table["origin"] == "measured") & table["quantity"].str.contains("reduction")]
    assert own["why"].str.contains("1.360x").to_list() == [True]


def test_quality_tells_them_apart(both, measurements):
    accuracy = render(quality.accuracy(both))
    assert "| h200 | softmax | float32 | triton_row | ok | 1 | 1.00e-09 |" in accuracy
    assert "| h200 | log_softmax | float32 | triton_row | ok | 1 | 5.00e-07 |" in accuracy
    noise = render(quality.within(both))
    assert [f"| h200 | measured | {op} |" in noise for op in OPS] == [True, True]
    rows = [synthetic.row(op=op, status="crash", message="x", flags="shared_gpu") for op in OPS]
    for text in (
        render(quality.failures(measurements(rows))),
        render(quality.flags(measurements(rows), [])),
    ):
        assert sum(f" {op} |" in text for op in OPS) == 2
        assert "| 2 |" not in text


@pytest.mark.parametrize(("op", "matrices"), [("softmax", 2), ("softmax_backward", 3)])
def test_the_roofline_counts_the_bytes_of_the_operation(op, matrices, measurements):
    rows = measurements([synthetic.row(op=op, M=1024, N=4096, copy_us=10.0)])
    (rate,) = copy_rate(rows)
    assert rate == pytest.approx(matrices * 1024 * 4096 * 4 / 10.0 / 1000)
