"""torch and the rival in figures of sweeps that have no rows of them."""

import math

import pytest

from analysis import frame, ranking
from analysis.figures.curves import draw_time
from analysis.panels import select
from tests.analysis import synthetic

TIMES = {"time_us": 10.0, "copy_us": 9.0, "of_copy": 0.9, "torch_us": 20.0, "speedup": 2.0}


def row(**given):
    low_high = {"speedup_low": 1.9, "speedup_high": 2.1}
    own = TIMES | low_high | synthetic.RIVAL | {"variant": "triton_row", "N": 1024}
    return synthetic.row(**own | given)


def made(rows):
    return rows[rows["flags"].isin([frame.CONTROL, frame.SECOND_BASELINE])].set_index("variant")


def test_torch_and_the_rival_become_rows_with_what_their_controls_know(measurements):
    rows = measurements([row()])
    found = made(frame.with_controls(rows))
    assert sorted(found.index) == ["peer_quack", "torch_softmax"]
    torch, rival = found.loc["torch_softmax"], found.loc["peer_quack"]
    assert (torch["time_us"], torch["speedup"], torch["of_copy"]) == (20.0, 1.0, 0.45)
    assert rival["time_us"] == 12.0
    assert rival["speedup"] == pytest.approx(2.0 / 1.2)
    down = math.hypot(math.log(2.0 / 1.9), math.log(1.25 / 1.2))
    assert rival["speedup_low"] == pytest.approx(2.0 / 1.2 * math.exp(-down))
    up = math.hypot(math.log(2.1 / 2.0), math.log(1.2 / 1.1))
    assert rival["speedup_high"] == pytest.approx(2.0 / 1.2 * math.exp(up))
    assert rival["throughput_gbps"] == pytest.approx(rows["throughput_gbps"].iloc[0] * 10 / 12)


def test_a_row_of_their_own_counts_alone_whatever_became_of_it(measurements):
    rows = [row(), row(variant="torch_softmax"), row(variant="peer_quack", status="incorrect")]
    assert made(frame.with_controls(measurements(rows))).empty


def test_several_rows_of_a_point_make_one(measurements):
    rows = [row(torch_us=value, variant=f"triton_{value}") for value in (19.0, 20.0, 24.0)]
    found = made(frame.with_controls(measurements(rows)))
    assert found.loc["torch_softmax", "time_us"] == 20.0


def test_without_a_rival_and_without_times_nothing_is_added(measurements):
    rows = measurements([row(status="timeout", time_us="", torch_us="", rival="", rival_us="")])
    assert frame.with_controls(rows) is rows


def test_a_rival_that_is_only_a_control_wins_nothing_and_torch_may(measurements):
    faster = {"rival_us": 8.0, "rival_speedup": 0.8, "rival_low": 0.79, "rival_high": 0.81}
    rows = frame.with_controls(measurements([row(**faster)]))
    assert ranking.fastest(rows)[1024] == ranking.Winner("triton_row", sure=True)
    slower = {"torch_us": 5.0, "speedup": 0.5, "speedup_low": 0.49, "speedup_high": 0.51}
    rows = frame.with_controls(measurements([row(**faster, **slower)]))
    assert ranking.fastest(rows)[1024] == ranking.Winner("torch_softmax", sure=True)


def test_a_figure_says_that_they_are_controls(measurements, tables):
    rows = frame.with_controls(measurements([row(), row(N=2048)], sweep="x"))
    figure = draw_time(select(rows, tables, "h200", "float32", "x"))
    (axes,) = figure.axes
    assert {"torch_softmax", "peer_quack"} <= {line.get_gid() for line in axes.lines}
    (said,) = [text for text in (t.get_text() for t in figure.texts) if "controls" in text]
    assert "torch_softmax and peer_quack: also as the other rows' controls" in said
    assert "the rival is not ranked" in said
